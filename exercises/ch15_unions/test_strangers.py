"""Checks of ch15/strangers."""

import itertools
import math

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=3,
    title="Strangers on a shelf",
    difficulty=2,
    minutes=20,
    hints=(
        "With what probability does nobody want a key?",
        "The union has S (1 - (1 - q)^R) keys on average. For the second part add one "
        "head at a time to a list of probabilities.",
        "found[n] = found[n] * (1 - q_h) + found[n - 1] * q_h, from [1, 0, ..., 0], for "
        "every head; the new list must be made from the old one alone.",
    ),
)

ROUNDING = 1e-12
"""Products and sums of at most ten probabilities in float64."""


@check(points=2, likely="a key is held unless all heads miss it.")
def test_expected(answer):
    """The expected overhead, against all ways to choose"""
    for share in (0.02, 0.25, 0.5, 0.9, 1.0):
        for heads in (1, 2, 3, 6):
            # Over all 2^R ways in which heads may want one key.
            held = sum(
                math.prod(share if one else 1 - share for one in ways)
                for ways in itertools.product((True, False), repeat=heads)
                if any(ways)
            )
            want = held / share
            mistakes = {
                "the union is not divided by one head's keys": held,
                "all heads must want a key": share**heads / share,
                "the heads never meet": float(heads),
                "the number of heads is not the exponent": (1 - (1 - share) * heads) / share,
            }
            mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
            got = answer.expected_overhead(share, heads)
            name = f"the result for {heads} heads, share {share}"
            expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)
    for wrong in (0.0, -0.5, 1.5):
        expect_raises(answer.expected_overhead, wrong, 3, mentions="share")


@check(points=3, likely="the new probabilities come from the old ones, all at once.")
def test_wanted(answer):
    """Heads with their own shares, against all ways to choose"""
    for shares in ([0.5, 0.5], [0.1, 0.2, 0.7], [0.0, 1.0, 0.3, 0.9], [0.25]):
        want = [0.0] * (len(shares) + 1)
        for ways in itertools.product((True, False), repeat=len(shares)):
            want[sum(ways)] += math.prod(
                share if one else 1 - share for share, one in zip(shares, ways)
            )
        mean = sum(shares) / len(shares)
        alike = [
            math.comb(len(shares), n) * mean**n * (1 - mean) ** (len(shares) - n)
            for n in range(len(shares) + 1)
        ]
        want, alike = (torch.tensor(x, dtype=torch.float64) for x in (want, alike))
        mistakes = {
            "all heads have the mean share": alike,
            "it is counted how many do not want it": want.flip(0),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        given = torch.tensor(shares, dtype=torch.float64)
        got = answer.wanted_by(given)
        name = f"the result for {shares}"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)
        same = torch.tensor(shares, dtype=torch.float64)
        expect_same(given, same, name="your argument after the call")


@check(points=2, likely="0 is at the expected overhead, 1 at an overhead of 1.")
def test_agreement(answer):
    """From strangers to one set, and to heads that avoid each other"""
    for share, heads in ((0.02, 3), (0.5, 3), (0.1, 6)):
        strangers = (1 - (1 - share) ** heads) / share
        for want in (0.0, 1.0, 0.4, -0.05):
            overhead = strangers - want * (strangers - 1)
            mistakes = {
                "agreement and disagreement are mixed up": 1 - want,
                "the end of strangers is R": (heads - overhead) / (heads - 1),
                "it is a share of the expected overhead": 1 - overhead / strangers,
            }
            mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
            got = answer.agreement(overhead, share, heads)
            # Differences of numbers below 6, divided by .7 or more.
            expect_same(got, want, tolerance=1e-12, mistakes=mistakes)
