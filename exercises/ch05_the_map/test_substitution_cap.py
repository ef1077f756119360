"""Checks of ch05/substitution_cap."""

import math
from statistics import NormalDist

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="From a sample of proofs to all rows",
    difficulty=2,
    minutes=25,
    hints=(
        "A coin shows no head in ten throws. Which chances of a head would you still "
        "believe in? The answer is no single number, and it does not end at nought.",
        "Square both sides of |x - q| = z sqrt(q (1 - q) / n) and solve for q. For "
        "the median, think of the values just below the middle: how far up can it go?",
        "q = (2 x + e + sqrt(4 e x (1 - x) + e^2)) / (2 (1 + e)) with e = z^2 / n; "
        "z is NormalDist().inv_cdf((1 + level) / 2); values.quantile(0.5 + fraction).",
    ),
)

ROUNDING = 1e-9
"""z = inv_cdf(.975) is good to 1e-9 in any table; the rest is float64."""


def by_bisection(successes, trials, level=0.95):
    """The largest q that the observation does not contradict."""
    z, share = NormalDist().inv_cdf((1 + level) / 2), successes / trials
    low, high = share, 1.0
    for _ in range(100):
        q = (low + high) / 2
        if q - share <= z * math.sqrt(q * (1 - q) / trials):
            low = q
        else:
            high = q
    return low


def normal_upper(successes, trials):
    """The textbook interval with the variance at the observed share."""
    share = successes / trials
    return share + 1.959963984540054 * math.sqrt(share * (1 - share) / trials)


def random_shares(seed, n):
    """Closable shares of n rows: many near 0, a few large, in no order."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, generator=generator).double() ** 4


def at_rank(values, fraction):
    """The quantile with linear interpolation, from the sorted list."""
    values, place = sorted(values.tolist()), fraction * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


@check(points=2, likely="the variance belongs to q, not to the observed share.")
def test_wilson(answer):
    """The published bounds: .016, .031, .066 and .206"""
    for successes, trials, published in (
        (0, 237, 0.016),
        (2, 234, 0.031),
        (8, 234, 0.066),
        (36, 234, 0.206),
    ):
        want = by_bisection(successes, trials)
        mistakes = {
            "the variance at the observed share is used": normal_upper(
                successes, trials
            ),
            "the share itself is returned": successes / trials,
            "the interval has one side": by_bisection(successes, trials, 0.9),
        }
        got = answer.wilson_upper(successes, trials)
        name = f"the bound of {successes} in {trials}"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)
        expect(round(got, 3) == published, f"{name} is {got}; published is {published}")
    for successes, trials, level in ((5, 5, 0.95), (1, 3, 0.5), (7, 10, 0.99)):
        want = by_bisection(successes, trials, level)
        got = answer.wilson_upper(successes, trials, level=level)
        expect_same(got, want, tolerance=ROUNDING, name=f"the bound at level {level}")


@check(points=1, likely="the middle moves up by the fraction: the quantile at 1/2 + f.")
def test_median_cap(answer):
    """Caps of random shares, and of no raised value"""
    for seed, n in ((514, 21), (515, 48)):
        shares = random_shares(seed, n)
        for fraction in (0.0, 0.031, 0.2, 0.45):
            want = at_rank(shares, 0.5 + fraction)
            mistakes = {
                "the quantile at 1/2 - f is taken": at_rank(shares, 0.5 - fraction),
                "the quantile at 1 - f is taken": at_rank(shares, 1 - fraction),
                "the median is multiplied by 1 + f": at_rank(shares, 0.5)
                * (1 + fraction),
            }
            if not fraction:
                mistakes = {}
            got, name = answer.median_cap(shares, fraction), f"the cap for {fraction}"
            expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)


@check(
    points=1, likely="unsolved rows may all hide a better set: they count as improved."
)
def test_unsolved(answer):
    """A cap with and without unsolved rows"""
    shares = random_shares(516, 301)
    for improved, solved, unsolved in (
        (2, 234, 0),
        (2, 234, 6),
        (36, 234, 12),
        (0, 9, 1),
    ):
        fraction = by_bisection(improved + unsolved, solved + unsolved)
        want = at_rank(shares, 0.5 + fraction)
        others = {
            "unsolved rows are left out": by_bisection(improved, solved),
            "unsolved rows are counted as not improved": by_bisection(
                improved, solved + unsolved
            ),
            "unsolved rows are no trials": by_bisection(improved + unsolved, solved),
            "the observed share is used": (improved + unsolved) / (solved + unsolved),
        }
        mistakes = {
            k: at_rank(shares, 0.5 + f) for k, f in others.items() if f != fraction
        }
        got = answer.substitution_cap(shares, improved, solved, unsolved=unsolved)
        name = f"the cap for {improved} of {solved}, {unsolved} unsolved"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)


@check(points=1, likely="the cap is a promise: no way of raising values breaks it.")
def test_promise(answer):
    """The worst that can happen: values below the middle are raised to 1"""
    shares = random_shares(517, 401)
    for raised in (0, 1, 20, 120):
        worst = shares.sort().values
        worst[200 - raised : 200] = 1.0
        want = worst.median().item()
        got = answer.median_cap(shares, raised / 400)
        expect_same(got, want, tolerance=ROUNDING, name=f"the cap for {raised} of 401")


@check(points=1, likely="counts and fractions that make no sense are not refused.")
def test_refusals(answer):
    """More successes than trials, and half of all values raised: ValueError"""
    expect_raises(answer.wilson_upper, 4, 3, mentions="successes")
    expect_raises(answer.wilson_upper, -1, 3, mentions="successes")
    for fraction in (0.5, -0.1):
        shares = random_shares(518, 9)
        expect_raises(answer.median_cap, shares, fraction, mentions="fraction")
