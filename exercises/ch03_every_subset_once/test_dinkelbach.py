"""Checks of ch03/dinkelbach."""

import itertools
import math
from fractions import Fraction

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="From a ratio to a sign",
    difficulty=2,
    minutes=25,
    hints=(
        "Is the fraction five sevenths above or below two thirds? Answer without "
        "dividing. How would you find the least of many fractions in that way?",
        "Each round needs `lowest` once. When can no set be better any more, and what "
        "does rounding do to a test whose exact value is 0?",
        "Go on with the error of the set that `lowest` found; return where the value "
        "is >= 0 or the new error is >= level * (1 - 1e-12).",
    ),
)

ROUNDING = 1e-12
"""Relative to numbers of order 1: a difference and a root in float64, about 1e-15."""
PARTS = "index", "levels"


def sets_of_a_row(seed, keys, size, dim):
    """Squares and masses of all sets of a random row."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(2 * torch.randn(keys, generator=generator).double(), -1)
    v = torch.randn(keys, dim, generator=generator).double()
    gamma = p[:, None] * (v - p @ v)
    sets = [list(subset) for subset in itertools.combinations(range(keys), size)]
    squares = torch.stack([gamma[subset].sum(0).square().sum() for subset in sets])
    return squares, torch.stack([p[subset].sum() for subset in sets])


def by_fractions(squares, masses, start):
    """The rounds in exact arithmetic: the squared levels are fractions."""
    squares = [Fraction(x) for x in squares.tolist()]
    masses = [Fraction(x) ** 2 for x in masses.tolist()]
    keys, index = range(len(squares)), start
    levels = [squares[start] / masses[start]]
    while True:
        value, found = min((squares[j] - levels[-1] * masses[j], j) for j in keys)
        if value >= 0:
            return index, [math.sqrt(level) for level in levels]
        index = found
        levels.append(squares[found] / masses[found])


@check(points=2, likely="both sides are squared: squares - level^2 masses^2.")
def test_the_sign(answer):
    """The test at several levels, by hand"""
    squares = torch.tensor([0.09, 0.04, 0.01, 0.04], dtype=torch.float64)
    masses = torch.tensor([0.9, 0.5, 0.1, 0.5], dtype=torch.float64)
    # errors 1/3, 2/5, 1, 2/5; at level 1/2: -0.1125, -0.0225, 0.0075, -0.0225
    for level, index, value in ((0.5, 0, -0.1125), (0.3, 2, 0.0091), (0.0, 2, 0.01)):
        mistakes = {
            "the masses are not squared": int((squares - level**2 * masses).argmin()),
            "the level is not squared": int((squares - level * masses**2).argmin()),
        }
        mistakes = {
            why: (at, (squares[at] - level**2 * masses[at]).item())
            for why, at in mistakes.items()
        }
        got = answer.lowest(squares, masses, level)
        want, name = (index, value), f"lowest at level {level}"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)
    got = answer.lowest(squares[1:], masses[1:], 0.5)
    expect_same(got, (0, -0.0225), tolerance=ROUNDING, name="lowest of two equal")


@check(points=2, likely="each next level is the error of the set that was found.")
def test_rounds(answer):
    """Every set of a row, from several starts: the levels on the way"""
    squares, masses = sets_of_a_row(314, keys=10, size=4, dim=3)
    worst = int((squares.sqrt() / masses).argmax())
    for start in (0, 100, worst):
        want = by_fractions(squares, masses, start)
        mistakes = {
            "no round is made": (start, want[1][:1]),
            "one round is made": (
                int((squares - want[1][0] ** 2 * masses**2).argmin()),
                want[1][:2],
            ),
            "the last level is entered twice": (want[0], want[1] + want[1][-1:]),
            "the squared errors are returned": (want[0], [x * x for x in want[1]]),
        }
        got, name = answer.dinkelbach(squares, masses, start), f"start {start}"
        expect_same(
            got, want, tolerance=ROUNDING, mistakes=mistakes, name=name, parts=PARTS
        )


@check(
    points=2, likely="the loop stops by an absolute tolerance, or by the sign alone."
)
def test_stop(answer):
    """Starts at the best set, where rounding decides the sign"""
    for seed in range(315, 327):
        squares, masses = sets_of_a_row(seed, keys=9, size=4, dim=2)
        ratios = squares.sqrt() / masses
        best = int(ratios.argmin())
        want = best, [ratios[best].item()]
        got = answer.dinkelbach(squares, masses, best)
        expect_same(got, want, tolerance=ROUNDING, name=f"row {seed}", parts=PARTS)


@check(points=1, likely="a tolerance has the scale of the numbers built in.")
def test_tiny_deviations(answer):
    """The same row with deviations a hundred million times smaller"""
    squares, masses = sets_of_a_row(327, keys=10, size=4, dim=3)
    index, levels = by_fractions(squares, masses, 7)
    got = answer.dinkelbach(squares * 2.0**-54, masses, 7)
    want = index, [x * 2.0**-27 for x in levels]
    expect_same(got, want, tolerance=ROUNDING, parts=PARTS)
    got = [x * 2.0**27 for x in got[1]]
    expect_same(got, levels, tolerance=ROUNDING, name="the rescaled list of levels")


@check(points=1, likely="a set without error ends the search at level 0.")
def test_no_error(answer):
    """A set whose deviations cancel"""
    squares = torch.tensor([0.09, 0.0, 0.01], dtype=torch.float64)
    masses = torch.tensor([0.9, 0.25, 0.1], dtype=torch.float64)
    # at level 1: -0.72, -0.0625 and 0: the heaviest set comes first
    want = 1, [1.0, 1 / 3, 0.0]
    got = answer.dinkelbach(squares, masses, 2)
    expect_same(got, want, tolerance=ROUNDING, parts=PARTS)
    got = answer.dinkelbach(squares, masses, 1)
    expect_same(got, (1, [0.0]), tolerance=ROUNDING, parts=PARTS)
