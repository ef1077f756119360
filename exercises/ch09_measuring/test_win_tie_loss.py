"""Checks of ch09/win_tie_loss."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="Won, tied, lost",
    difficulty=1,
    minutes=20,
    hints=(
        "Two teams meet in several matches of several games each. Is it games or "
        "matches that you are asked to count?",
        "Average ours - theirs over the questions of each label first; only then "
        "compare with the margin. For the sign test, count the outcomes of all tosses "
        "that are at least as lopsided: both tails.",
        "np.bincount(of_question, ours - theirs) and np.bincount(of_question) give "
        "sums and counts; math.comb(n, k) for k from max(wins, losses) to n is one "
        "tail, out of 2**n.",
    ),
)

ROUNDING = 1e-12
"""One division of integers: float64 rounds to about 1e-16."""
PARTS = "wins", "ties", "losses"

# Document: ours and theirs of its questions. Means of the differences: .5, 0, -.25,
# 1/3, 0 up to rounding, 1.
ANSWERS = {
    42: ([1, 1], [0, 1]),
    7: ([0, 1], [1, 0]),
    19: ([0, 1, 1, 0], [1, 1, 0, 1]),
    3: ([1, 1, 0], [0, 0, 1]),
    88: ([0.3, 0.1], [0.1, 0.3]),
    51: ([1], [0]),
}


def record(order=901):
    """The answers above, questions in random order."""
    ours, theirs, documents = [], [], []
    for label, (a, b) in ANSWERS.items():
        ours, theirs = ours + a, theirs + b
        documents += [label] * len(a)
    at = np.random.default_rng(order).permutation(len(ours))
    arrays = np.array(ours, float), np.array(theirs, float), np.array(documents)
    return tuple(x[at] for x in arrays)


def by_fractions(ours, theirs, documents, margin):
    """The definition, in exact arithmetic on tenths."""
    counts = [0, 0, 0]
    for label in set(documents.tolist()):
        rows = [i for i, d in enumerate(documents.tolist()) if d == label]
        off = [Fraction(round(1000 * (ours[i] - theirs[i])), 1000) for i in rows]
        mean = sum(off) / len(off)
        counts[0 if mean > margin else 2 if mean < -margin else 1] += 1
    return tuple(counts)


@check(points=2, likely="documents are counted, by the mean over their questions.")
def test_documents(answer):
    """Six documents with one to four questions"""
    ours, theirs, documents = record()
    mistakes = {
        "questions are counted": (7, 2, 5),
        "ours is subtracted from theirs": (1, 2, 3),
    }
    got = answer.win_tie_loss(ours, theirs, documents)
    expect_same(got, (3, 2, 1), mistakes=mistakes, parts=PARTS)
    got = answer.win_tie_loss(theirs - 2, ours, documents)
    expect_same(got, (0, 0, 6), name="the record of hopeless answers", parts=PARTS)
    generator = np.random.default_rng(902)
    for n in (1, 30, 200):
        a, b = generator.integers(0, 11, (2, n)) / 10
        labels = generator.integers(5, 5 + n // 3 + 1, n)
        want = by_fractions(a, b, labels, 0)
        got = answer.win_tie_loss(a, b, labels)
        expect_same(got, want, name=f"the record of {n} questions", parts=PARTS)


@check(points=1, likely="at the margin, up to rounding, is still a tie.")
def test_margin(answer):
    """Margins: what reaches one is a tie"""
    ours, theirs, documents = record()
    for margin, want in (
        (0.2, (3, 2, 1)),
        (0.25, (3, 3, 0)),
        (0.5, (1, 5, 0)),
        (1.0, (0, 6, 0)),
    ):
        got = answer.win_tie_loss(ours, theirs, documents, margin=margin)
        expect_same(got, want, name=f"the record at margin {margin}", parts=PARTS)
    ours = np.array([0.1 + 0.2, 0.3, 0.7])
    theirs = np.array([0.3, 0.1 + 0.2, 0.4])
    documents = np.array([1, 2, 3])
    got = answer.win_tie_loss(ours, theirs, documents)
    expect_same(got, (1, 2, 0), name="the record with .1 + .2 - .3", parts=PARTS)
    got = answer.win_tie_loss(ours, theirs, documents, margin=0.3)
    expect_same(got, (0, 3, 0), name="the record with .7 - .4 at .3", parts=PARTS)
    near = np.array([1e-6, -1e-6, 0.0])
    got = answer.win_tie_loss(near, 0 * near, documents)
    expect_same(got, (1, 1, 1), name="the record of tiny differences", parts=PARTS)
    expect_raises(
        answer.win_tie_loss, ours, theirs, documents, margin=-0.1, mentions="margin"
    )


def by_outcomes(wins, losses):
    """Every number of heads that is as lopsided, from Pascal's triangle."""
    n = wins + losses
    row = [Fraction(1)]
    for _ in range(n):
        row = [(a + b) / 2 for a, b in zip([0, *row], [*row, 0])]
    return float(sum(x for k, x in enumerate(row) if abs(2 * k - n) >= abs(wins - losses)))


@check(points=2, likely="both tails count, with the observed outcome in them.")
def test_sign_test(answer):
    """Tosses as lopsided as these, towards either side"""
    for wins, losses in ((3, 0), (0, 3), (9, 4), (7, 7), (8, 7), (1, 0), (40, 21)):
        want = by_outcomes(wins, losses)
        own = math.comb(wins + losses, wins) / 2 ** (wins + losses)
        mistakes = {
            "one tail is counted": want / 2,
            "the observed outcome itself is left out": want - 2 * own,
        }
        got = answer.sign_test(wins, losses)
        name = f"the p-value of {wins} wins and {losses} losses"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)
    got = answer.sign_test(0, 0)
    expect_same(got, 1.0, tolerance=ROUNDING, name="the p-value of ties only")


@check(points=1, likely="2 to the power of thousands is no float: divide integers.")
def test_many_tosses(answer):
    """Thousands of documents"""
    # From the normal approximation, with half a toss for continuity; its own error is
    # of the order 1 / n.
    n, wins = 4000, 2050
    z = (2 * (wins - n / 2) - 1) / n**0.5
    want = 2 * NormalDist().cdf(-z)
    got = answer.sign_test(wins, n - wins)
    expect_same(got, want, tolerance=2e-4, name=f"the p-value of {wins} of {n}")
