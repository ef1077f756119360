"""Checks of ch11/regimes."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=2,
    title="What a gap profile promises",
    difficulty=2,
    minutes=25,
    hints=(
        "Each claim of the theorem holds for every offset that makes its condition true. "
        "Which offset gives the best bound?",
        "Look at G(j) - gamma log j over all ranks j = 1 .. S. Its smallest value says how "
        "far the line must be lowered, its largest how far it must be raised.",
        "below = -min, above = max of that difference. Neither is negative, as the "
        "difference is 0 at j = 1. Then evaluate the formula for each gamma and take "
        "the smallest upper, or the largest lower bound.",
    ),
)

ROUNDING = 1e-10
"""Logarithms and sums of some hundred float64 numbers."""


def profiles():
    """Gap profiles: power laws, a Gaussian row, one with a sink."""
    generator = torch.Generator().manual_seed(1110)
    ranks = torch.arange(1, 301, dtype=torch.float64)
    row = torch.randn(200, dtype=torch.float64, generator=generator).sort(descending=True).values
    sink = torch.cat([row[:1] + 5, row])
    found = [1.6 * ranks.log(), 0.4 * ranks.log(), 3 * row[0] - 3 * row, sink[0] - sink]
    return [gap - gap[0] for gap in found]


def both_offsets(gap, gamma):
    over = [g - gamma * math.log(j) for j, g in enumerate(gap.tolist(), 1)]
    return -min(over), max(over)


def upper(gap, gamma, eta):
    below, _ = both_offsets(gap, gamma)
    return max(1, math.ceil((math.exp(below) / (eta * (gamma - 1))) ** (1 / (gamma - 1))))


def lower(gap, gamma, eta):
    _, above = both_offsets(gap, gamma)
    power = 1 - gamma
    return (1 - eta) * math.exp(-above) * ((len(gap) + 1) ** power - 1) / power


def count(gap, eta):
    p = (-gap).softmax(0)
    return next(k for k in range(1, len(p) + 1) if float(p[k:].sum()) <= eta)


@check(points=3, likely="ranks start at 1, and below is lowered until the line is under G everywhere.")
def test_offsets(answer):
    """The two lines of a slope that enclose a profile"""
    for gap in profiles():
        for gamma in (0.0, 0.5, 1.3, 2.5):
            want = both_offsets(gap, gamma)
            zero = [g - gamma * math.log(j + 1) for j, g in enumerate(gap.tolist(), 1)]
            mistakes = {
                "the two offsets are exchanged": (want[1], want[0]),
                "below has the other sign": (-want[0], want[1]),
                "ranks start at 2": (-min(zero), max(zero)),
                "gamma has no effect": both_offsets(gap, 0.0),
            }
            mistakes = {k: x for k, x in mistakes.items() if x != want}
            got = answer.offsets(gap, gamma)
            expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes,
                        parts=("below", "above"))


@check(points=3, likely="each gamma has an offset of its own, and the smallest bound is the best.")
def test_upper(answer):
    """Upper bounds, and that they are bounds"""
    gammas = [1.2, 1.5, 2.0, 3.0, 5.0]
    for gap in profiles():
        for eta in (0.3, 0.05):
            every = [upper(gap, gamma, eta) for gamma in gammas]
            want = min(every)
            mistakes = {
                "the largest bound is taken": max(every),
                "the first gamma is taken": every[0],
                "the last gamma is taken": every[-1],
                "it is rounded down": want - 1,
            }
            mistakes = {k: x for k, x in mistakes.items() if x != want}
            got = answer.most_keys(gap, gammas, eta)
            expect_same(got, want, mistakes=mistakes, name="the upper bound")
            expect(got >= count(gap, eta), "the bound is below K_eta itself")
    # A sink so heavy that one key is enough: what is rounded up is below 1.
    alone = torch.cat([torch.zeros(1), torch.full((20,), 60.0)]).double()
    expect_same(answer.most_keys(alone, [3.0], 0.9), 1, name="the bound of a lone sink")


@check(points=2, likely="S + 1 in the bracket, the largest bound, rounded up, and at least 1.")
def test_lower(answer):
    """Lower bounds, and that they are bounds"""
    gammas = [0.0, 0.3, 0.6, 0.9]
    for gap in profiles():
        for eta in (0.3, 0.05):
            every = [max(1, math.ceil(lower(gap, gamma, eta))) for gamma in gammas]
            want = max(every)
            mistakes = {
                "the smallest bound is taken": min(every),
                "the first gamma is taken": every[0],
                "it is rounded down": want - 1,
            }
            mistakes = {k: x for k, x in mistakes.items() if x != want}
            got = answer.least_keys(gap, gammas, eta)
            expect_same(got, want, mistakes=mistakes, name="the lower bound")
            expect(got <= count(gap, eta), "the bound is above K_eta itself")


@check(points=1, likely="1 belongs to neither claim, 0 belongs to the second.")
def test_gammas(answer):
    """Slopes that no claim is about"""
    gap = profiles()[2]
    for gammas in ([], [1.0], [2.0, 0.5]):
        expect_raises(answer.most_keys, gap, gammas, 0.1, mentions="gammas")
    for gammas in ([], [1.0], [0.5, 1.5], [-0.1, 0.5]):
        expect_raises(answer.least_keys, gap, gammas, 0.1, mentions="gammas")
    flat = torch.zeros(8, dtype=torch.float64)
    # Eight equal keys: .95 of them is 7.6, so that all eight are needed.
    expect_same(answer.least_keys(flat, [0.0], 0.05), 8, name="the bound of a flat row")
