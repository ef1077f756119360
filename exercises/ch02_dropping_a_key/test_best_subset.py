"""Checks of ch02/best_subset."""

import math
from fractions import Fraction
from itertools import combinations

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="The best set of keys, by trying them all",
    difficulty=2,
    minutes=15,
    hints=(
        "How would you find the best pair among three keys on paper? A computer can "
        "do the same, only longer.",
        "itertools.combinations(range(S), size) gives the sets in the order that the "
        "tie rule wants. What is m_A for one of them?",
        "Remember the best error so far and replace it only where the new one is "
        "smaller by more than 1e-12; p[list(A)] / p[list(A)].sum() are the weights.",
    ),
)

ROUNDING = 1e-11
"""float64 rounds these errors to about 1e-15; a tie may hide up to 1e-12."""
PARTS = "indices", "error"


def row(p, v):
    """p and v as float64 tensors; v may be given as plain numbers for D = 1."""
    v = torch.tensor(v, dtype=torch.float64)
    return torch.tensor(p, dtype=torch.float64), v.reshape(len(p), -1)


def exact_square(p, v, subset):
    """The squared error of one set in fractions, so that equal errors are equal."""
    p = [Fraction(x) for x in p.tolist()]
    v = [[Fraction(x) for x in line] for line in v.tolist()]
    mass = sum(p[j] for j in subset)
    total = Fraction(0)
    for d in range(len(v[0])):
        mu = sum(p[j] * v[j][d] for j in range(len(p)))
        total += (mu - sum(p[j] * v[j][d] for j in subset) / mass) ** 2
    return total


def by_fractions(p, v, size):
    """The first best set in exact arithmetic."""
    sets = combinations(range(len(p)), size)
    square, best = min((exact_square(p, v, subset), subset) for subset in sets)
    return best, math.sqrt(square)


@check(points=2, likely="the set with the largest weights is not always the best one.")
def test_two_of_three(answer):
    """Two of three keys, by hand: the best pair is not the heaviest"""
    p, v = row([0.45, 0.45, 0.10], [-1.0, 1.0, 5.0])
    mistakes = {
        "the set with the most mass is taken": ((0, 1), 0.5),
        "the kept weights are not renormalised": ((0, 2), 0.45),
        "indices count from 1": ((1, 3), 9 / 22),
        "the error is squared": ((0, 2), (9 / 22) ** 2),
    }
    got = answer.best_subset(p, v, 2)
    expect_same(
        got, ((0, 2), 9 / 22), tolerance=ROUNDING, parts=PARTS, mistakes=mistakes
    )


@check(
    points=2, likely="some sets are never tried, or the wrong quantity is minimised."
)
def test_random_rows(answer):
    """Random rows of nine keys with values in three dimensions, every size"""
    generator = torch.Generator().manual_seed(206)
    p = torch.softmax(2 * torch.randn(9, generator=generator).double(), -1)
    v = torch.randn(3, 9, generator=generator).double().T  # not contiguous
    for size in (1, 2, 4, 8, 9):
        want, name = by_fractions(p, v, size), f"the result for size {size}"
        got = answer.best_subset(p, v, size)
        expect_same(got, want, tolerance=ROUNDING, parts=PARTS, name=name)


@check(points=1, likely="of equal sets the first in the order of combinations wins.")
def test_ties(answer):
    """Equal errors: the first set in the order of combinations"""
    p, v = row([0.25] * 4, [0.0, 1.0, 2.0, 3.0])
    expect_same(
        answer.best_subset(p, v, 2), ((0, 3), 0.0), tolerance=ROUNDING, parts=PARTS
    )
    # Keys 1 and 3 are the same key twice, and no set of two is free of error.
    p, v = row(
        [0.25, 0.125, 0.5, 0.125], [[4.0, 1.0], [1.0, 3.0], [0.0, -2.0], [1.0, 3.0]]
    )
    want = by_fractions(p, v, 2)
    expect_same(answer.best_subset(p, v, 2), want, tolerance=ROUNDING, parts=PARTS)
    # mu = -11/14; {0, 2, 5} leads to -12/14 and {1, 3, 4} to -10/14: both are 1/14
    # off, though in float64 the second looks better by 1e-16.
    p, v = row([w / 14 for w in (2, 2, 2, 2, 3, 3)], [-4.0, 3.0, 4.0, -1.0, -3.0, -2.0])
    got = answer.best_subset(p, v, 3)
    expect_same(got, ((0, 2, 5), 1 / 14), tolerance=ROUNDING, parts=PARTS)


@check(points=1, likely="sizes without a set are not refused.")
def test_sizes_without_a_set(answer):
    """Size 0 and a size larger than the row: ValueError"""
    p, v = row([0.5, 0.25, 0.25], [1.0, 2.0, 3.0])
    for size in (0, 4):
        expect_raises(answer.best_subset, p, v, size, mentions="size")
