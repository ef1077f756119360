"""Checks of ch15/certificate."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=2,
    title="A certificate of waste",
    difficulty=2,
    minutes=25,
    hints=(
        "Both lower bounds see the pairs through one and the same number. Which is it, "
        "and what is it when no two heads share a key?",
        "It is c = J / (1 + J). The upper bound wants the largest pair, the lower one the "
        "mean. For the third part set each bound equal to the factor and solve for c.",
        "c = (R - f) / (R (R - 1)) by counts, c = (R / f - 1) / (2 (R - 1)) by squares; "
        "the larger c, and J = c / (1 - c).",
    ),
)

PARTS = "lower bound", "upper bound"
ROUNDING = 1e-12
"""A few operations in float64 on numbers below 10."""


def pairs_of(kept):
    """J of every pair, with Python's sets; and the true union overhead."""
    sets = [set(row.nonzero()[:, 0].tolist()) for row in kept]
    found = [
        len(a & b) / len(a | b) for i, a in enumerate(sets) for b in sets[i + 1 :]
    ]
    overhead = len(set.union(*sets)) / len(sets[0])
    return torch.tensor(found, dtype=torch.float64), overhead


def groups(seed):
    """Random groups of 2 to 8 heads with shared and own keys."""
    generator = torch.Generator().manual_seed(seed)
    for heads in (2, 3, 4, 6, 8):
        shared = torch.randn(1, 40, generator=generator)
        own = torch.randn(heads, 40, generator=generator)
        best = (shared + own).topk(8).indices
        yield torch.zeros(heads, 40, dtype=torch.bool).scatter(1, best, True)


def want_of(overlaps, heads):
    """Both bounds from shares in common, pair by pair."""
    js = overlaps.tolist()
    mean = sum(js) / len(js)
    both = max(2 * j / (1 + j) for j in js)
    return heads / (1 + (heads - 1) * (2 * mean / (1 + mean))), heads - both


@check(points=3, likely="the lower bound takes the mean, the upper one the best pair.")
def test_bounds(answer):
    """Both bounds, on groups of 2 to 8 heads"""
    for kept in groups(1510):
        heads = len(kept)
        overlaps, overhead = pairs_of(kept)
        want = want_of(overlaps, heads)
        assert want[0] <= overhead + 1e-12 and overhead <= want[1] + 1e-12
        mean, most = overlaps.mean().item(), overlaps.max().item()
        mistakes = {
            "2 J stands where 2 J / (1 + J) should": (
                heads / (1 + 2 * (heads - 1) * mean), heads - 2 * most
            ),
            "the upper bound takes the mean pair": (
                want[0], heads - 2 * mean / (1 + mean)
            ),
            "the lower bound takes the best pair": (
                heads / (1 + 2 * (heads - 1) * most / (1 + most)), want[1]
            ),
            "the bounds are the other way round": want[::-1],
            "every head is paired with R heads": (
                heads / (1 + 2 * heads * mean / (1 + mean)), want[1]
            ),
        }
        mistakes = {
            k: x for k, x in mistakes.items()
            if max(abs(x[0] - want[0]), abs(x[1] - want[1])) > 1e-6
        }
        got = answer.sandwich(overlaps, heads)
        name = f"the result for {heads} heads"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name, parts=PARTS)


# Away from the places where a bound just promises, but for whole numbers.
CASES = (
    (0.0, 2, 2.0, ("counts", "squares")),
    (0.16, 3, 2.0, ("counts",)),
    (0.19, 3, 2.0, ("counts",)),  # with 2 J in place of 2 J / (1 + J): 1.86
    (0.13, 3, 2.0, ("counts", "squares")),
    (0.25, 3, 2.0, ()),
    (0.2, 6, 2.0, ("squares",)),
    (0.1, 6, 2.0, ("counts", "squares")),
    (0.1, 6, 3.5, ()),
    (0.065, 6, 4.0, ("counts",)),
    (0.3, 8, 1.5, ("squares",)),
    (1.0, 5, 1.0, ("squares",)),
    (0.5, 4, 4.0, ()),
)


@check(points=3, likely="each bound is compared with the factor for itself.")
def test_certified(answer):
    """Which bound promises what, from 2 to 8 heads"""
    for mean, heads, factor, want in CASES:
        name = f"the result for J = {mean}, {heads} heads, factor {factor}"
        expect_same(answer.certified(mean, heads, factor), want, name=name)
    for wrong in (0.5, 6.5, -1.0):
        expect_raises(answer.certified, 0.1, 6, wrong, mentions="factor")


def by_bisection(heads, factor):
    """Largest J at which the better bound still reaches the factor."""

    def best(j):
        share = j / (1 + j)
        return max(
            heads - heads * (heads - 1) * share,
            heads / (1 + 2 * (heads - 1) * share),
        )

    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if best(middle) >= factor else (low, middle)
    return low


@check(points=3, likely="above R / 2 counting reaches further, below it squares do.")
def test_furthest(answer):
    """The largest overlap that still certifies, against bisection"""
    for heads in (2, 3, 4, 6, 8):
        for factor in (1.25, heads / 2 + 0.1, 0.9 * heads, float(heads)):
            want = by_bisection(heads, factor)
            counts = (heads - factor) / (heads * (heads - 1))
            squares = (heads / factor - 1) / (2 * (heads - 1))
            mistakes = {
                "only squares are tried": squares / (1 - squares),
                "only counts are tried": counts / (1 - counts),
                "J / (1 + J) is returned": max(counts, squares),
                "the worse bound is taken": min(counts, squares) / (1 - min(counts, squares)),
                "the published bound, with 2 J, is solved": counts,
            }
            mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
            got = answer.furthest(heads, factor)
            name = f"the result for {heads} heads, factor {factor:g}"
            expect_same(got, want, tolerance=1e-9, mistakes=mistakes, name=name)
