"""Checks of ch10/ranking_rows."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="Who votes, who stays",
    difficulty=1,
    minutes=15,
    hints=(
        "Two different ends: where the rows that may vote end, and where the text ends. "
        "Which of the two do the forced keys belong to?",
        "The voters are rows ranking - window .. ranking - 1. The forced keys are the "
        "last of the S keys, whoever votes.",
        "weights_hts[:, ranking - window : ranking].mean((0, 1)), then 2 from "
        "S - forced on. A key is silent from place ranking on.",
    ),
)

ROUNDING = 1e-12
"""Means of fewer than a hundred numbers between 0 and 1, in float64."""


def attention(seed, heads, length):
    """Causal weights [H, S, S], every row a distribution over the keys up to it."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(heads, length, length, generator=generator).double()
    future = torch.ones(length, length).triu(1).bool()
    return logits.masked_fill(future, -torch.inf).softmax(-1)


def by_loops(weights, window, rows_end, forced, forced_end=None):
    """The definition, weight by weight."""
    heads, length, _ = weights.shape
    forced_end = length if forced_end is None else forced_end
    scores = []
    for key in range(length):
        total = 0.0
        for head in range(heads):
            for row in range(max(rows_end - window, 0), rows_end):
                total += weights[head, row, key].item()
        stays = forced_end - forced <= key < forced_end
        scores.append(2.0 if stays else total / (heads * window))
    return torch.tensor(scores, dtype=torch.float64)


@check(points=2, likely="the mean is over the window's rows and over all heads.")
def test_all_rows_rank(answer):
    """The last rows of the text vote"""
    for seed, window, forced in ((1001, 3, 3), (1002, 1, 2), (1003, 9, 1)):
        weights = attention(seed, 4, 9)
        want = by_loops(weights, window, 9, forced)
        mistakes = {
            "the votes are summed and not averaged": want * 4 * window,
            "all rows vote": by_loops(weights, 9, 9, forced),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.window_scores(weights, window, 9, forced)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=3, likely="the voters end at ranking, the forced keys at the end of the text.")
def test_document_rows_rank(answer):
    """Only rows of the document vote, keys of the question are forced"""
    for seed, window, ranking, forced in ((1004, 3, 8, 2), (1005, 4, 6, 5), (1006, 6, 6, 3)):
        weights = attention(seed, 3, 12)
        want = by_loops(weights, window, ranking, forced)
        mistakes = {
            "the last rows of the text vote": by_loops(weights, window, 12, forced),
            "the forced keys end where the voters end": by_loops(
                weights, window, ranking, forced, ranking
            ),
            "the voters' own keys are forced": by_loops(weights, window, ranking, window),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.window_scores(weights, window, ranking, forced)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=1, likely="score[-0:] is everything.")
def test_nothing_forced(answer):
    """No key is forced, or all are"""
    weights = attention(1007, 2, 7)
    for forced in (0, 7):
        want = by_loops(weights, 2, 5, forced)
        got = answer.window_scores(weights, 2, 5, forced)
        expect_same(got, want, tolerance=ROUNDING, name=f"the score with {forced} forced")


@check(points=1, likely="a negative first row counts from the end.")
def test_windows(answer):
    """A window of all ranking rows is fine; no row, or more than may rank: ValueError"""
    weights = attention(1008, 2, 7)
    want = by_loops(weights, 5, 5, 1)
    expect_same(answer.window_scores(weights, 5, 5, 1), want, tolerance=ROUNDING)
    for window in (0, 6, 7):
        expect_raises(answer.window_scores, weights, window, 5, 1, mentions="window")


@check(points=2, likely="the last voter sees its own key, and none after it.")
def test_silent(answer):
    """Keys that no voter can see"""
    for length, window, ranking in ((6, 2, 4), (6, 4, 4), (9, 1, 1), (5, 3, 5)):
        want = torch.tensor([key >= ranking for key in range(length)])
        mistakes = {
            "the voters' own keys count as silent": torch.arange(length) >= ranking - window,
            "the key at ranking is left out": torch.arange(length) > ranking,
            "keys are silent that voters see": torch.arange(length) >= ranking - 1,
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.silent_keys(length, window, ranking)
        expect_same(got, want, mistakes=mistakes)
