"""Checks of ch03/swap_search."""

from fractions import Fraction

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=4,
    title="Balancing by swaps",
    difficulty=2,
    minutes=25,
    hints=(
        "Four people sit on a seesaw that is not level. You may exchange one of them "
        "for one who waits. How do you find the best exchange?",
        "A swap changes the sum of the deviations by two of them and the mass by two "
        "weights. Compute the error of every swap before you make one.",
        "pulls = g - gamma[kept][:, None] + gamma[outside] and masses = mass - "
        "p[kept][:, None] + p[outside]; stop where the least error is >= error * "
        "(1 - 1e-12).",
    ),
)

ROUNDING = 1e-11
"""float64 rounds these errors to about 1e-15; a tie may hide up to 1e-12."""
PARTS = "indices", "error", "swaps"


def random_row(seed, keys, dim):
    """A row whose values are not contiguous."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(torch.randn(keys, generator=generator).double(), -1)
    return p, torch.randn(dim, keys, generator=generator).double().T


def square(p, v, subset):
    """The squared error of one set, with numbers as exact as p and v are."""
    mu = [sum(p[j] * v[j][d] for j in range(len(p))) for d in range(len(v[0]))]
    mass = sum(p[j] for j in subset)
    return sum(
        (mu[d] - sum(p[j] * v[j][d] for j in subset) / mass) ** 2
        for d in range(len(mu))
    )


def by_fractions(p, v, size, pool, rounds=99, first=False):
    """The search in exact arithmetic; first: take the first swap that helps."""
    p = [Fraction(x) for x in p.tolist()]
    v = [[Fraction(x) for x in line] for line in v.tolist()]
    kept = sorted(sorted(range(len(p)), key=lambda j: (-p[j], j))[:size])
    least, swaps = square(p, v, kept), 0
    while swaps < rounds:
        tried = []
        for leaving in kept:
            for entering in sorted(set(pool) - set(kept)):
                trial = sorted({*kept, entering} - {leaving})
                tried.append((square(p, v, trial), leaving, entering, trial))
        best = min(tried, default=(least,))
        if first:
            best = next((one for one in tried if one[0] < least), best)
        if best[0] >= least:
            break
        least, kept, swaps = best[0], best[3], swaps + 1
    return tuple(kept), float(least) ** 0.5, swaps


@check(
    points=2, likely="the swap that leaves the least error is made, again and again."
)
def test_by_hand(answer):
    """One swap of three keys, by hand; and a set that needs none"""
    p = torch.tensor([0.45, 0.45, 0.10], dtype=torch.float64)
    v = torch.tensor([[-1.0], [1.0], [5.0]], dtype=torch.float64)
    mistakes = {
        "no swap is made": ((0, 1), 0.5, 0),
        "the mass does not change with the swap": ((0, 2), 0.225 / 0.9, 1),
        "the error is squared": ((0, 2), (9 / 22) ** 2, 1),
    }
    got = answer.swap_search(p, v, 2, [0, 1, 2])
    want = (0, 2), 9 / 22, 1
    expect_same(got, want, tolerance=ROUNDING, parts=PARTS, mistakes=mistakes)
    got = answer.swap_search(p, v, 1, [0, 1, 2])  # errors 1.5, 0.5, 4.5
    want = (1,), 0.5, 1
    expect_same(got, want, tolerance=ROUNDING, parts=PARTS)


@check(points=2, likely="the first swap that helps is not the one that helps most.")
def test_random_rows(answer):
    """Random rows with several swaps, also where they end in no best set"""
    for seed in (340, 351, 386, 396):  # two or three swaps each; some end astray
        p, v = random_row(seed, keys=12, dim=3)
        pool = list(range(12))
        want = by_fractions(p, v, 4, pool)
        mistakes = {
            "the search stops after one swap": by_fractions(p, v, 4, pool, rounds=1),
            "the first swap that helps is made": by_fractions(
                p, v, 4, pool, first=True
            ),
        }
        if mistakes["the first swap that helps is made"] == want:
            del mistakes["the first swap that helps is made"]
        got, name = answer.swap_search(p, v, 4, pool), f"the result of row {seed}"
        expect_same(
            got, want, tolerance=ROUNDING, parts=PARTS, mistakes=mistakes, name=name
        )


@check(points=1, likely="only keys of the pool may enter, whichever keys may leave.")
def test_pool(answer):
    """A pool that lacks some heavy keys and most light ones"""
    for seed, pool in ((335, [11, 3, 7, 9]), (336, [0, 2, 4, 6, 8]), (337, [5])):
        p, v = random_row(seed, keys=13, dim=2)
        want, name = by_fractions(p, v, 5, pool), f"the result with pool {pool}"
        got = answer.swap_search(p, v, 5, pool)
        expect_same(got, want, tolerance=ROUNDING, parts=PARTS, name=name)


@check(points=1, likely="of equal swaps the smaller leaving, then entering key counts.")
def test_ties(answer):
    """Equal weights and mirrored values: many equal swaps"""
    p = torch.full((8,), 0.125, dtype=torch.float64)
    v = torch.tensor([1.0, 1, 4, 4, -1, -1, -4, -4], dtype=torch.float64)[:, None]
    for size in (2, 3, 4):
        want, name = by_fractions(p, v, size, range(8)), f"the result for size {size}"
        got = answer.swap_search(p, v, size, list(range(8)))
        expect_same(got, want, tolerance=ROUNDING, parts=PARTS, name=name)


@check(points=1, likely="with nobody to swap in, the top-mass set stays.")
def test_nothing_to_swap(answer):
    """All keys kept, and a pool of keys that are kept anyway"""
    p, v = random_row(338, keys=6, dim=3)
    for size, pool in ((6, list(range(6))), (2, p.argsort()[-2:].tolist()), (3, [])):
        want = by_fractions(p, v, size, pool)
        got = answer.swap_search(p, v, size, pool)
        expect_same(got, want, tolerance=ROUNDING, parts=PARTS, name=f"pool {pool}")
