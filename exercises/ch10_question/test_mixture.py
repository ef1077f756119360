"""Checks of ch10/mixture."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="How much question is in a window",
    difficulty=2,
    minutes=25,
    hints=(
        "Count the rows: of the last w rows, how many belong to the question when w is "
        "smaller than the question, and when it is larger?",
        "min(w, q) rows of the question and w - min(w, q) of the document, each from "
        "their end. For the second part, multiply the inequality of votes by w.",
        "With ahead = wanted - rival by the question and behind = rival - wanted by the "
        "document: q * ahead > (w - q) * behind. The largest whole w - q that is "
        "strictly below q * ahead / behind.",
    ),
)

ROUNDING = 1e-12
"""Means of fewer than a hundred numbers between 0 and 1, in float64."""
PARTS = "vote", "share"


def rows(seed, count, keys=6):
    """Random rows of weights, [count, keys]."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, keys, generator=generator).double().softmax(-1)


def by_rows(question, document, window):
    """Mean of the last rows of both, one below the other."""
    whole = document.tolist() + question.tolist()
    voters = whole[len(whole) - window :]
    vote = [sum(column) / window for column in zip(*voters)]
    return torch.tensor(vote, dtype=torch.float64), min(window, len(question)) / window


@check(points=3, likely="the window's mean weighs every row alike.")
def test_wide_windows(answer):
    """Windows wider than the question: all of it, and rows of the document"""
    question, document = rows(1030, 4), rows(1031, 12)
    for window in (5, 8, 16):
        want = by_rows(question, document, window)
        few = document[len(document) - window + 4 :]
        mistakes = {
            "question and document weigh the same": (
                (question.mean(0) + few.mean(0)) / 2, want[1]
            ),
            "the first rows of the document vote": (
                by_rows(question, document.flip(0), window)[0], want[1]
            ),
            "the share is that of the document": (want[0], 1 - want[1]),
        }
        mistakes = {
            k: x for k, x in mistakes.items()
            if not torch.allclose(x[0], want[0]) or x[1] != want[1]
        }
        got = answer.mixed_vote(question, document, window)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=2, likely="only the last rows of the question vote; x[-0:] is everything.")
def test_narrow_windows(answer):
    """Windows that hold nothing but question"""
    question, document = rows(1032, 5), rows(1033, 3)
    for window in (1, 3, 5):
        want = by_rows(question, document, window)
        mistakes = {
            "the first rows of the question vote": (question[:window].mean(0), want[1]),
            "all rows of the question vote": (question.mean(0), want[1]),
            "the share is above 1": (want[0], 5 / window),
        }
        mistakes = {
            k: x for k, x in mistakes.items()
            if not torch.allclose(x[0], want[0]) or x[1] != want[1]
        }
        got = answer.mixed_vote(question, document, window)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


def by_trying(wanted, rival, question, limit=400):
    """The widest window by trying them all."""
    best = 0
    for window in range(question, limit):
        mine, theirs = (
            question * key[0] + (window - question) * key[1] for key in (wanted, rival)
        )
        best = window if mine > theirs else best
    return best


# Votes in sixteenths: sums and quotients that matter are exact in float64.
CASES = (
    ((0.5, 0.0), (0.0, 0.125), 8),  # 8 * .5 / .125 = 32 rows would be a tie
    ((0.5, 0.0625), (0.25, 0.1875), 11),
    ((0.625, 0.0), (0.125, 0.375), 10),  # 13.33: 13 rows
    ((0.125, 0.0), (0.0625, 1.0), 4),  # not one document row
)


@check(points=3, likely="the question's rows are fixed, the document's are w - q.")
def test_widest(answer):
    """Widest windows against trying them all, ties among them"""
    for wanted, rival, question in CASES:
        want = by_trying(wanted, rival, question)
        rows_more = question * (wanted[0] - rival[0]) / (rival[1] - wanted[1])
        mistakes = {
            "a tie counts as outranking": question + math.floor(rows_more),
            "the rows of the question are left out": want - question,
            "document rows outweigh by the window, not by their number": math.ceil(rows_more) - 1,
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.widest_window(wanted, rival, question)
        expect_same(got, want, mistakes=mistakes)


@check(points=2, likely="a key that is ahead with the document, too, is never overtaken.")
def test_never_and_always(answer):
    """Keys that always outrank, and keys that never do"""
    for wanted, rival, want in (
        ((0.5, 0.25), (0.25, 0.125), None),
        ((0.5, 0.25), (0.25, 0.25), None),
        ((0.25, 0.0), (0.25, 0.5), 0),
        ((0.125, 0.5), (0.25, 0.0), 0),  # wide windows would help; 8 rows don't
        ((0.25, 0.5), (0.25, 0.0), 0),
    ):
        got = answer.widest_window(wanted, rival, 8)
        expect_same(got, want, name=f"the window of {wanted} against {rival}")
