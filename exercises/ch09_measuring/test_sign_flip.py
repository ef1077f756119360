"""Checks of ch09/sign_flip."""

from fractions import Fraction
from itertools import product

import numpy as np

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=3,
    title="Turning signs",
    difficulty=2,
    minutes=25,
    hints=(
        "If it made no difference which method is called ours, what else could you "
        "have observed on the same documents, with the same right?",
        "Sum the differences of each document. Every choice of signs of these sums is "
        "one outcome; the observed one is among them. Sampled: it is one more.",
        "np.arange(2**C)[:, None] >> np.arange(C) & 1 lists all choices as 0 and 1; "
        "(1 - 2 * bits) @ sums are the totals; (1 + as_far) / (1 + N) for N samples.",
    ),
)

ROUNDING = 1e-12
"""A count, divided once."""


def measured(seed, documents, questions):
    """Differences in tenths, on documents of unequal length, shuffled."""
    generator = np.random.default_rng(seed)
    labels = generator.permutation(60)[:documents] + 100
    of = np.concatenate([labels, generator.choice(labels, questions - documents)])
    return generator.integers(-6, 10, questions) / 10, generator.permutation(of)


def sums_of(differences, documents, means=False):
    """Exact sums of each document, labels ascending."""
    found = []
    for label in sorted(set(documents.tolist())):
        own = differences[documents == label].tolist()
        total = sum(Fraction(round(10 * x), 10) for x in own)
        found.append(total / len(own) if means else total)
    return found


def by_counting(sums, strictly=False, two_sided=True):
    """The share of all sign choices that are as far from 0."""
    seen, count = sum(sums), 0
    for signs in product((1, -1), repeat=len(sums)):
        total = sum(s * x for s, x in zip(signs, sums))
        if two_sided:
            total, bar = abs(total), abs(seen)
        else:
            bar = seen
        count += total > bar if strictly else total >= bar
    return float(Fraction(count, 2 ** len(sums)))


@check(points=2, likely="signs of whole documents turn, and both sides count.")
def test_exact(answer):
    """All sign choices of two to nine documents"""
    for seed, documents, questions in ((921, 2, 5), (922, 5, 14), (923, 9, 31)):
        differences, of = measured(seed, documents, questions)
        sums = sums_of(differences, of)
        want = by_counting(sums)
        mistakes = {
            "questions turn their signs one by one": by_counting(
                [Fraction(round(10 * x), 10) for x in differences[:12].tolist()]
            ),
            "only one side is counted": by_counting(sums, two_sided=False),
            "the observed outcome does not count": by_counting(sums, strictly=True),
            "means of documents are taken, not sums": by_counting(
                sums_of(differences, of, means=True)
            ),
        }
        mistakes = {what: x for what, x in mistakes.items() if abs(x - want) > 1e-9}
        got = answer.exact_p(differences, of)
        name = f"the p-value over {documents} documents"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)


@check(points=1, likely="equal up to rounding is as far; sums of 0 are no difference.")
def test_ties(answer):
    """Totals that are equal in truth, and no difference at all"""
    # .1 + .2 + .3 in any order and sign: floating point tells them apart, truth not.
    differences = np.array([0.1, 0.2, 0.3, -0.1, -0.2, 0.3])
    documents = np.array([1, 2, 3, 4, 5, 6])
    want = by_counting([Fraction(round(10 * x), 10) for x in differences.tolist()])
    got = answer.exact_p(differences, documents)
    expect_same(got, want, tolerance=ROUNDING)
    got = answer.exact_p(np.zeros(4), np.array([1, 2, 3, 3]))
    expect_same(got, 1.0, tolerance=ROUNDING, name="the p-value of equal answers")
    got = answer.exact_p(np.full(16, 0.25), np.arange(16))
    expect_same(got, 2.0**-15, tolerance=0.0, name="the p-value of 16 equal wins")


@check(points=2, likely="the observed signs are one sample more.")
def test_sampled(answer):
    """Given signs, on 30 documents"""
    differences, of = measured(924, 30, 75)
    generator = np.random.default_rng(925)
    signs = 1.0 - 2.0 * generator.integers(2, size=(400, 30))
    sums = sums_of(differences, of)
    whole = [[int(s) for s in row] for row in signs.tolist()]
    totals = [abs(sum(s * x for s, x in zip(row, sums))) for row in whole]
    as_far = sum(total >= abs(sum(sums)) for total in totals)
    want = (1 + as_far) / 401
    mistakes = {
        "the observed signs are left out": as_far / 400,
        "the 1 is missing below": (1 + as_far) / 400,
        "the 1 is missing above": as_far / 401,
    }
    got = answer.sampled_p(differences, of, signs)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    got = answer.sampled_p(np.ones(30), np.arange(30), signs)
    name = "the p-value of 30 equal wins"
    expect_same(got, 1 / 401, tolerance=ROUNDING, name=name)
    # Labels in ascending order: document 1 is column 0, whatever comes first.
    signs = np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0]])
    got = answer.sampled_p(np.array([-0.2, 0.5, 0.4]), np.array([9, 1, 5]), signs)
    name = "the p-value of three documents"
    expect_same(got, 2 / 4, tolerance=ROUNDING, name=name)


@check(points=1, likely="a column is a document.")
def test_columns(answer):
    """A column too few or too many: ValueError"""
    differences, of = measured(926, 5, 12)
    for columns in (4, 6, 12):
        signs = np.ones((10, columns))
        expect_raises(answer.sampled_p, differences, of, signs, mentions="signs_nc")
