"""Checks of ch10/lost_keys."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="Which keys a forced window protects",
    difficulty=2,
    minutes=20,
    hints=(
        "Three kinds of question keys: forced, next to the document, and the rest. "
        "What does each kind have as its score?",
        "Forced keys are never lost. Those next to the document may rank first or last. "
        "The rest have 0 and go before everything else. How many go at all?",
        "At most the unforced go, max(question - forced, 0). At least: that, less those "
        "next to the document, as far as there are places for them. Neither bound is "
        "above document + question - entries, all that is dropped.",
    ),
)

PARTS = "least", "most"


def brute_force(document, question, entries, forced, kernel):
    """Bounds by ranking itself, with the borrowed scores very low and very high."""
    found = []
    for borrowed in (0.5, 2.0):  # below and above every document key, which have 1
        score = [1.0] * document + [0.0] * question
        for key in range(document, min(document + kernel // 2, document + question)):
            score[key] = borrowed
        for key in range(document + question - forced, document + question):
            score[key] = float("inf")
        order = sorted(range(len(score)), key=lambda key: -score[key])
        found.append(sum(key >= document for key in order[entries:]))
    return min(found), max(found)


@check(points=3, likely="the keys next to the document borrow a score of unknown size.")
def test_published(answer):
    """39 keys of a question, 32 of them forced, and other windows and kernels"""
    for forced, kernel, want in (
        (32, 7, (4, 7)),
        (32, 5, (5, 7)),
        (32, 1, (7, 7)),
        (8, 7, (28, 31)),
        (1, 3, (37, 38)),
    ):
        mistakes = {
            "keys next to the document count as lost for certain": (want[1], want[1]),
            "keys next to the document count as safe": (want[0], want[0]),
            "the whole kernel lies on one side": (max(39 - forced - kernel, 0), want[1]),
            "the forced keys are forgotten": (39 - kernel // 2, 39),
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.loss_bounds(4096, 39, 128, forced, kernel)
        expect_same(got, want, mistakes=mistakes, parts=PARTS)


@check(points=2, likely="a count of keys is never negative.")
def test_all_forced(answer):
    """A forced window that is longer than the question, or nearly"""
    for question, forced, kernel, want in (
        (11, 64, 5, (0, 0)),
        (11, 11, 5, (0, 0)),
        (11, 10, 5, (0, 1)),
        (11, 8, 7, (0, 3)),
    ):
        got = answer.loss_bounds(512, question, 128, forced, kernel)
        expect_same(got, want, parts=PARTS, name=f"the bounds for {forced} forced")


@check(points=2, likely="no more keys of the question can go than go at all.")
def test_large_budgets(answer):
    """Budgets under which hardly anything is dropped"""
    for document, question, forced, kernel in ((6, 9, 2, 5), (20, 7, 1, 3), (4, 4, 4, 7)):
        for entries in range(forced, document + question + 1):
            want = brute_force(document, question, entries, forced, kernel)
            got = answer.loss_bounds(document, question, entries, forced, kernel)
            expect_same(got, want, parts=PARTS, name=f"the bounds for {entries} entries")


@check(points=2, likely="the question is the last columns of the mask, and lost is not kept.")
def test_by_head(answer):
    """Counted in masks, also without any question"""
    generator = torch.Generator().manual_seed(1020)
    kept = torch.rand(4, 10, generator=generator) < 0.4
    for question in (3, 10, 0):
        rows = [[not k for k in row[10 - question :]] for row in kept.tolist()]
        want = torch.tensor([sum(row) for row in rows])
        mistakes = {
            "kept keys are counted": question - want,
            "keys of the document are counted": (~kept[:, : 10 - question]).sum(1),
            "the first keys are counted": (~kept[:, :question]).sum(1),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.lost_by_head(kept, question)
        expect_same(got, want, mistakes=mistakes)
