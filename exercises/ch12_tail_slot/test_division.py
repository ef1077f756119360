"""Checks of ch12/division."""

import itertools

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=5,
    title="The best division, with a proof",
    difficulty=3,
    minutes=45,
    hints=(
        "At a price that no head can improve on, every division of one total costs the "
        "same constant plus its losses. What does that say about heads that lose much?",
        "Sum the losses of the given division; a count that alone loses more cannot be in "
        "a better one. For the best division go through the heads, and keep for every "
        "total the least sum so far.",
        "least[t] for t = 0 .. total; one head more: for every b, least[t - b] + cost[b]. "
        "Remember the b that won, and walk back from the total.",
    ),
)


def stepped(seed, heads, room, levels=64):
    """Costs that fall in steps, multiples of 1/8, so that sums are exact."""
    generator = torch.Generator().manual_seed(seed)
    drops = torch.randint(levels, (heads, room), generator=generator)
    drops *= torch.rand(heads, room, generator=generator) < 0.4  # flat stretches
    tail = drops.flip(1).cumsum(1).flip(1).double() / 8
    return torch.cat([tail, torch.zeros(heads, 1, dtype=torch.float64)], 1)


def least_sum(cost_hb, total):
    """Dynamic programming, the value only."""
    least = torch.full((total + 1,), torch.inf, dtype=torch.float64)
    least[0] = 0
    for cost_b in cost_hb:
        more = torch.full_like(least, torch.inf)
        for b in range(min(len(cost_b) - 1, total) + 1):
            more[b:] = torch.minimum(more[b:], least[: total + 1 - b] + cost_b[b])
        least = more
    return least[total].item()


def expect_best(answer, cost, total, name):
    """A division of the total with the least sum."""
    got = answer.best_division(cost, total)
    counts = isinstance(got, torch.Tensor) and got.dtype == torch.int64
    expect(counts and list(got.shape) == [len(cost)], f"{name} is no [H] int64 tensor")
    room = cost.shape[1] - 1
    legal = bool((got >= 0).all() and (got <= room).all())
    expect(legal, f"{name}: {got.tolist()}; a head can have 0 .. {room} keys")
    spent = int(got.sum())
    expect(spent == total, f"{name}: the counts sum to {spent}; need {total}")
    paid = cost.gather(1, got[:, None]).sum().item()
    want = least_sum(cost, total)
    expect(paid <= want + 1e-9, f"{name}: costs {paid:.6g}; a division of {want:.6g} exists")


@check(points=3, likely="losses are measured from each head's least, and compared with their sum.")
def test_could_be_better(answer):
    """Which counts a better division could contain"""
    for seed, price in ((1241, 2.0), (1242, 0.5), (1243, 0.0), (1244, 7.25)):
        cost = stepped(seed, 4, 9)
        counts = torch.tensor([2, 3, 0, 4])
        loss = cost + price * torch.arange(10)
        loss = loss - loss.min(1, keepdim=True).values
        own = loss[torch.arange(4), counts]
        want = loss <= own.sum()
        mistakes = {
            "each head is compared with its own loss": loss <= own[:, None],
            "the price is forgotten": (
                cost - cost.amin(1, keepdim=True)
                <= (cost - cost.amin(1, keepdim=True))[torch.arange(4), counts].sum()),
            "equal losses are left out": loss < own.sum(),
            "the largest loss counts": loss <= own.max(),
        }  # fmt: skip
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.could_be_better(cost, counts, price)
        expect_same(got, want, mistakes=mistakes, name=f"the counts at price {price}")


@check(points=2, likely="every better division must survive, for any price.")
def test_no_better_one_is_lost(answer):
    """Every better division of a small case lies in the marked counts"""
    cost = stepped(1245, 3, 5)
    for counts, price in (((0, 2, 4), 1.0), ((3, 3, 0), 3.0), ((1, 1, 1), 0.25)):
        given = torch.tensor(counts)
        marked = answer.could_be_better(cost, given, price)
        heads = torch.arange(3)
        paid = cost[heads, given].sum()
        want = (cost + price * torch.arange(6)).sub(
            (cost + price * torch.arange(6)).amin(1, keepdim=True))
        expect_same(marked, want <= want[heads, given].sum())
        for other in itertools.product(range(6), repeat=3):
            other = torch.tensor(other)
            if other.sum() == given.sum() and cost[heads, other].sum() < paid:
                expect(bool(marked[heads, other].all()),
                       f"{other.tolist()} is better than {counts} and not marked")  # fmt: skip


@check(points=3, likely="single steps from a price stop short where a curve is not convex.")
def test_small_divisions(answer):
    """Every total of small cases, flat stretches and all"""
    hand = torch.tensor([[7.0, 7, 7, 0], [4, 4, 0, 0], [1, 0.9, 0.8, 0.8]]).double()
    for total in range(10):
        expect_best(answer, hand, total, f"the division of {total}")
    for seed in (1246, 1247):
        cost = stepped(seed, 4, 6)
        for total in (1, 5, 9, 13, 20, 24):
            expect_best(answer, cost, total, f"the division of {total}")


@check(points=2, likely="trying all divisions takes too long; keep the least sum of every total.")
def test_large_divisions(answer):
    """Many heads and hundreds of keys"""
    cost = stepped(1248, 12, 150)
    expect_best(answer, cost, 600, "the division of 600")
    expect_best(answer, stepped(1249, 2, 400), 400, "the division of 400")


@check(points=1, likely="0 .. H B, both ends legal.")
def test_illegal_totals(answer):
    """Nothing, everything, and too much"""
    cost = stepped(1250, 3, 4)
    expect_best(answer, cost, 0, "the division of nothing")
    expect_best(answer, cost, 12, "the division of everything")
    expect_raises(answer.best_division, cost, 13, mentions="total")
    expect_raises(answer.best_division, cost, -1, mentions="total")
