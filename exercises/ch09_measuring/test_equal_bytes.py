"""Checks of ch09/equal_bytes."""

import math

import numpy as np

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=5,
    title="At equal bytes",
    difficulty=2,
    minutes=25,
    hints=(
        "Two cars drove at different speeds and used different amounts of fuel. What "
        "do you have to know of one to compare it fairly with the other?",
        "Sort the budgets by bytes, average scores of equal bytes, refuse what is "
        "outside, interpolate between neighbours in log bytes. One document has one "
        "curve.",
        "np.unique(held_j, return_inverse=True) sorts and groups; "
        "np.interp(np.log(target), np.log(sizes), means) interpolates; None where "
        "target is outside sizes[0] .. sizes[-1].",
    ),
)

ROUNDING = 1e-12
"""A few logarithms and one interpolation in float64: about 1e-15."""


def between(points, target, scale=math.log):
    """Interpolation between the two neighbours, from the formula of a line."""
    points = sorted(points)
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x0 <= target <= x1:
            part = (scale(target) - scale(x0)) / (scale(x1) - scale(x0))
            return y0 + part * (y1 - y0)


@check(points=2, likely="linear in the logarithm, between neighbours in bytes.")
def test_curve(answer):
    """Between, at and beside the measured budgets"""
    held, score = np.array([400.0, 100.0, 200.0]), np.array([0.9, 0.2, 0.6])
    got = answer.score_at(held, score, 100.0 * 2**0.5)
    mistakes = {
        "bytes themselves are interpolated": between(
            zip(held.tolist(), score.tolist()), 100 * 2**0.5, scale=float
        ),
        "the budgets are not sorted": float(
            np.interp(math.log(100 * 2**0.5), np.log(held), score)
        ),
        "the nearest budget is taken": 0.2,
    }
    expect_same(got, 0.4, tolerance=ROUNDING, mistakes=mistakes)
    for target, want in ((100.0, 0.2), (400.0, 0.9), (200.0, 0.6)):
        got = answer.score_at(held, score, target)
        name = f"the score at {target:g} bytes"
        expect_same(got, want, tolerance=ROUNDING, name=name)
    generator = np.random.default_rng(941)
    held = generator.permutation(np.exp(generator.uniform(5, 12, 8)))
    score = generator.random(8)
    for target in np.exp(generator.uniform(6, 11, 5)).tolist():
        want = between(zip(held.tolist(), score.tolist()), target)
        if want is not None:
            got = answer.score_at(held, score, target)
            name = f"the score at {target:.0f} bytes"
            expect_same(got, want, tolerance=ROUNDING, name=name)


@check(points=1, likely="nothing is known outside; equal bytes are one budget.")
def test_ends(answer):
    """Outside of the curve, equal bytes, a single budget"""
    held, score = np.array([100.0, 200.0, 400.0]), np.array([0.2, 0.6, 0.9])
    for target in (99.0, 401.0, 1e9):
        got = answer.score_at(held, score, target)
        expect_same(got, None, name=f"the score at {target:g} bytes")
    held, score = np.array([300.0, 100.0, 300.0]), np.array([0.9, 0.1, 0.5])
    got = answer.score_at(held, score, 300.0)
    name = "the score where two budgets held as much"
    expect_same(got, 0.7, tolerance=ROUNDING, name=name)
    got = answer.score_at(held, score, 30_000**0.5)
    expect_same(got, 0.4, tolerance=ROUNDING, name="the score half-way to them")
    got = answer.score_at(np.array([50.0]), np.array([0.5]), 50.0)
    expect_same(got, 0.5, tolerance=ROUNDING, name="the score of a single budget")
    for wrong in (0.0, -1.0):
        held = np.array([wrong, 100.0])
        expect_raises(answer.score_at, held, np.ones(2), 50.0, mentions="held_j")


@check(points=2, likely="each document has its own curve and its own bytes.")
def test_gain(answer):
    """Several documents, each with its own curve"""
    parts = "gain", "left out"
    generator = np.random.default_rng(942)
    held = np.cumsum(generator.uniform(100, 300, (4, 9)), 0)
    score = np.sort(generator.random((4, 9)), 0)
    theirs_held = held[0] + generator.random(9) * (held[3] - held[0])
    theirs = generator.random(9)
    order = generator.permutation(4)
    gains, naive = [], []
    for d in range(9):
        points = list(zip(held[:, d].tolist(), score[:, d].tolist()))
        gains.append(theirs[d] - between(points, theirs_held[d]))
        naive.append(theirs[d] - score[1, d])
    want = float(np.mean(gains)), 0
    mean_curve = list(zip(held.mean(1).tolist(), score.mean(1).tolist()))
    pooled = theirs.mean() - between(mean_curve, theirs_held.mean())
    mistakes = {
        "the sign is turned round": (-want[0], 0),
        "mean scores are compared at mean bytes": (float(pooled), 0),
        "one budget is compared with all": (float(np.mean(naive)), 0),
    }
    got = answer.gain_at_equal_bytes(held[order], score[order], theirs_held, theirs)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=parts)
    got = answer.gain_at_equal_bytes(held, 0 * score, theirs_held, theirs)
    want = float(theirs.mean()), 0
    name = "the gain over hopeless answers"
    expect_same(got, want, tolerance=ROUNDING, name=name, parts=parts)


@check(points=1, likely="documents outside of their curve are left out and counted.")
def test_left_out(answer):
    """Bytes beyond the curves of some documents, or of all"""
    parts = "gain", "left out"
    held = np.array([[100.0, 100.0, 100.0, 10.0], [200.0, 200.0, 200.0, 20.0]])
    score = np.array([[0.5, 0.5, 0.5, 0.1], [1.0, 1.0, 1.0, 0.2]])
    theirs_held = np.array([200.0, 250.0, 50.0, 15.0])
    theirs = np.array([0.75, 0.0, 0.0, 0.3])
    log_15 = math.log(1.5) / math.log(2)
    gain = (-0.25 + 0.3 - (0.1 + 0.1 * log_15)) / 2
    mistakes = {
        "the curve goes on flat outside": (
            (-0.25 - 1.0 - 0.5 + 0.3 - 0.1 - 0.1 * log_15) / 4,
            0,
        ),
        "the sum is divided by all documents": (gain / 2, 2),
    }
    got = answer.gain_at_equal_bytes(held, score, theirs_held, theirs)
    expect_same(got, (gain, 2), tolerance=ROUNDING, mistakes=mistakes, parts=parts)
    beyond = np.full(4, 1e6)
    expect_raises(
        answer.gain_at_equal_bytes, held, score, beyond, theirs, mentions="held_d"
    )
