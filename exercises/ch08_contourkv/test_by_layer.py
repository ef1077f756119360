"""Checks of ch08/by_layer."""

from fractions import Fraction

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=5,
    title="The contour, layer by layer",
    difficulty=2,
    minutes=25,
    hints=(
        "Three layers are owed 2 1/3, 2 1/3 and 1 1/3 keys a head, 6 in all. Who gets "
        "the one that rounding down leaves over?",
        "Work with whole numbers: the sum of a layer's counts, divided by K, has a "
        "quotient and a remainder. The largest remainders get one more each.",
        "extra = counts.sum() // K - quotients.sum(); the first `extra` of a stable "
        "argsort of the remainders, descending. Ranks are the argsort of the argsort.",
    ),
)


def budgets(rows):
    """Largest remainders with exact fractions, and ties to the earlier layer."""
    means = [Fraction(sum(row), len(row)) for row in rows]
    want = [int(mean) for mean in means]
    extra = int(sum(means)) - sum(want)
    order = sorted(range(len(rows)), key=lambda i: (-(means[i] - int(means[i])), i))
    for i in order[:extra]:
        want[i] += 1
    return want


def random_counts(seed, layers, heads, high):
    """Counts of many layers."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(high, (layers, heads), generator=generator)


@check(points=2, likely="rounded down, then one more to the largest fractions.")
def test_by_hand(answer):
    """Four layers whose means are no whole numbers"""
    rows = [[3, 4, 0], [1, 1, 2], [5, 5, 5], [2, 3, 3]]  # 2 1/3, 1 1/3, 5, 2 2/3
    mistakes = {
        "every mean is rounded down": torch.tensor([2, 1, 5, 2]),
        "the first layer gets what is left": torch.tensor([3, 1, 5, 2]),
        "every mean is rounded up": torch.tensor([3, 2, 5, 3]),
        "the widest head counts": torch.tensor([4, 2, 5, 3]),
        "heads are summed and not averaged": torch.tensor([7, 4, 15, 8]),
    }
    want = torch.tensor([2, 1, 5, 3])  # 11 1/3, rounded down
    got = answer.layer_budgets(torch.tensor(rows))
    expect_same(got, want, mistakes=mistakes)


@check(points=2, likely="equal fractions go to the earlier layer, whatever the mean.")
def test_ties_and_totals(answer):
    """Many layers with equal fractions: totals exact, earlier layers first"""
    for seed, layers, heads, high in (
        (841, 30, 3, 200), (842, 40, 8, 9), (843, 64, 2, 5000), (844, 5, 1, 9),
    ):  # fmt: skip
        counts = random_counts(seed, layers, heads, high)
        want = torch.tensor(budgets(counts.tolist()))
        mistakes = {"every mean is rounded": counts.double().mean(1).round().long()}
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got, name = answer.layer_budgets(counts), f"budgets of {layers} layers"
        expect_same(got, want, mistakes=mistakes, name=name)


@check(points=2, likely="each head its own best keys, as many as its layer's budget.")
def test_share_alike(answer):
    """Heads of a layer keep equally many of their own best keys"""
    generator = torch.Generator().manual_seed(845)
    # One layer gets nothing, one everything; many scores are equal.
    for levels in (3, 1000):
        score = torch.randint(levels, (5, 3, 40), generator=generator).double()
        counts = random_counts(846, 5, 3, 41)
        counts[1], counts[3] = 0, 40
        want = torch.zeros(5, 3, 40, dtype=torch.bool)
        for i, count in enumerate(budgets(counts.tolist())):
            for k in range(3):
                row = score[i, k].tolist()
                best = sorted(range(40), key=lambda j: (-row[j], j))[:count]
                want[i, k, best] = True
        own = torch.zeros_like(want)
        for i in range(5):
            for k in range(3):
                best = score[i, k].argsort(descending=True, stable=True)
                own[i, k, best[: counts[i, k]]] = True
        mistakes = {"every head keeps its own count": own}
        got = answer.share_alike(score, counts)
        expect_same(got, want, mistakes=mistakes)
