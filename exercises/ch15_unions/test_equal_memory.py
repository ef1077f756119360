"""Checks of ch15/equal_memory."""

import itertools

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=4,
    title="Hold the union, or agree",
    difficulty=2,
    minutes=30,
    hints=(
        "The total loss of a set is a sum over its keys. What is a key worth to the "
        "group, whatever else is kept?",
        "Its column sum. For the second part each head loses what lies outside the "
        "union, not outside its own keys.",
        "union = own.any(0), then the union.sum() largest column sums; "
        "(mass_rs * ~kept).sum(-1) is what every head loses.",
    ),
)

PARTS = "number of keys", "losses"
ROUNDING = 1e-12
"""Sums of at most 60 numbers that are 1 together."""


def rows(seed, heads, keys):
    """Random rows of attention, [heads, keys]."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(heads, keys, generator=generator).double()
    return (2 * noise).softmax(1)


def loss(mass, kept):
    """What each head has outside."""
    return torch.tensor(
        [sum(x for x, stays in zip(row, kept.tolist()) if not stays)
         for row in mass.tolist()],
        dtype=torch.float64,
    )


@check(points=2, likely="a key is worth the sum of what all heads give it.")
def test_common(answer):
    """The common choice loses least of all sets of its size"""
    for seed, heads, keys, size in ((1, 3, 9, 4), (2, 2, 8, 1), (3, 6, 9, 5), (4, 3, 7, 7)):
        mass = rows(1530 + seed, heads, keys)
        before = mass.clone()
        got = answer.common_choice(mass, size)
        expect_same(mass, before, name="your argument after the call")
        best = min(
            (loss(mass, torch.tensor([j in some for j in range(keys)])).sum().item(), some)
            for some in itertools.combinations(range(keys), size)
        )
        want = torch.tensor([j in best[1] for j in range(keys)])
        first = mass[0].argsort(descending=True)[:size]
        largest = mass.amax(0).argsort(descending=True)[:size]
        mistakes = {
            "the first head decides alone": torch.zeros(keys, dtype=bool).scatter(0, first, True),
            "a key counts by its keenest head": torch.zeros(keys, dtype=bool).scatter(
                0, largest, True),
            "the worst keys are kept": ~want,
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        expect_same(got, want, mistakes=mistakes, name=f"the set of {size} of {keys}")


@check(points=1, likely="of equal keys the smaller position stays.")
def test_ties(answer):
    """Many equal columns"""
    mass = torch.tensor([[1.0, 2.0, 1.0, 2.0, 2.0] * 8, [2.0, 1.0, 1.0, 1.0, 1.0] * 8]).double()
    totals = [3, 3, 2, 3, 3] * 8
    for size in (3, 20, 35):
        order = sorted(range(40), key=lambda j: (-totals[j], j))[:size]
        want = torch.tensor([j in order for j in range(40)])
        expect_same(answer.common_choice(mass, size), want, name=f"the set of {size} of 40")


@check(points=3, likely="once a key is on the shelf, every head sees it.")
def test_compare(answer):
    """Losses of the union and of the common choice, random groups"""
    for seed, heads, keys, size in ((5, 3, 40, 5), (6, 6, 60, 8), (7, 2, 30, 30)):
        mass = rows(1530 + seed, heads, keys)
        own = torch.zeros(heads, keys, dtype=torch.bool)
        own.scatter_(1, mass.topk(size).indices, True)
        union = torch.tensor([bool(column.any()) for column in own.T])
        held = int(union.sum())
        common = torch.zeros(keys, dtype=torch.bool)
        common[mass.sum(0).topk(held).indices] = True
        fewer = torch.zeros(keys, dtype=torch.bool)
        fewer[mass.sum(0).topk(size).indices] = True
        want = held, torch.stack([loss(mass, union), loss(mass, common)])
        alone = torch.stack([loss(row[None], one)[0] for row, one in zip(mass, own)])
        mistakes = {
            "each head sees its own keys only": (held, torch.stack([alone, want[1][1]])),
            "the common choice has the budget, not the union's memory": (
                held, torch.stack([want[1][0], loss(mass, fewer)])),
            "the two are exchanged": (held, want[1].flip(0)),
            "what is kept is returned": (held, 1 - want[1]),
        }
        mistakes = {
            k: x for k, x in mistakes.items() if not torch.allclose(x[1], want[1])
        }
        got = answer.compare(mass, size)
        name = f"the result for {heads} heads"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name, parts=PARTS)


@check(points=1, likely="compare the sums over heads; one head may well lose more.")
def test_theorem(answer):
    """The common choice never loses more in all, though one head may"""
    outvoted = 0
    for seed in range(40):
        held, losses = answer.compare(rows(seed, 4, 50), 3)
        expect(
            losses[1].sum() <= losses[0].sum() + ROUNDING,
            f"with {held} keys the common choice loses {losses[1].sum():.4f} and the "
            f"union {losses[0].sum():.4f}",
        )
        outvoted += bool((losses[1] > losses[0] + ROUNDING).any())
    expect(outvoted > 10, "in most groups some head loses more by the common choice")
