"""Checks of ch06/window_scores."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="The observation window",
    difficulty=2,
    minutes=25,
    hints=(
        "The window has three rows and the text ten keys. Which keys does the first of "
        "these rows see? Write the mask down.",
        "Row w of the window stands at position S - W + w. Hide later keys before the "
        "softmax, cut the window's keys off after it.",
        "max_pool1d(votes, kernel, stride=1, padding=kernel // 2) on the [H, S - W] mean "
        "weights; then view(K, R, -1).mean(1).",
    ),
)

ROUNDING = 1e-12
"""Softmax weights in float64: 1e-15 of a weight, sums of a few dozen."""


def states(seed, heads=6, kv_heads=2, window=4, length=15, dim=5):
    """Random queries of the window and keys."""
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(*shape, dim, generator=generator, dtype=torch.float64)
        for shape in ((heads, window), (kv_heads, length))
    ]


def by_hand(queries, keys, scaling, kernel, causal=True, order="pool", group=None):
    """The definition, number by number."""
    heads, window, _ = queries.shape
    kv_heads, length, _ = keys.shape
    size = heads // kv_heads
    group = group or (lambda h: h // size)
    early, half = length - window, kernel // 2
    votes = [[0.0] * early for _ in range(heads)]
    for h in range(heads):
        for w in range(window):
            seen = early + w + 1 if causal else length
            logits = [
                scaling * float(queries[h, w] @ keys[group(h), j]) for j in range(seen)
            ]
            top = max(logits)
            powers = [math.exp(x - top) for x in logits]
            for j in range(early):
                votes[h][j] += powers[j] / sum(powers) / window

    def pool(row):
        return [max(row[max(j - half, 0) : j + half + 1]) for j in range(early)]

    def mean(rows):
        return [sum(column) / len(rows) for column in zip(*rows)]

    score = torch.full((kv_heads, length), torch.inf, dtype=torch.float64)
    for k in range(kv_heads):
        members = [votes[h] for h in range(heads) if group(h) == k]
        row = mean([pool(v) for v in members]) if order == "pool" else pool(mean(members))
        score[k, :early] = torch.tensor(row, dtype=torch.float64)
    return score


def compare(got, want, window, **options):
    """Same +inf on the window, same numbers before it."""
    expect(
        bool(torch.isinf(torch.as_tensor(got)[..., want.shape[-1] - window :]).all()),
        "the window's own keys must score +inf: they stay",
    )
    early = want.shape[-1] - window
    cut = {why: wrong[..., :early] for why, wrong in options.pop("mistakes", {}).items()}
    cut = {why: x for why, x in cut.items() if not torch.equal(x, want[..., :early])}
    expect_same(
        got[..., :early], want[..., :early], tolerance=ROUNDING, mistakes=cut, **options
    )


@check(points=2, likely="row w of the window sees keys up to position S - W + w.")
def test_mean_weights(answer):
    """Weights of the window, averaged, without pooling"""
    for seed, window in ((601, 4), (602, 1)):
        queries, keys = states(seed, heads=2, window=window)
        want = by_hand(queries, keys, 0.5, 1)
        mistakes = {
            "the window's rows see each other's future": by_hand(
                queries, keys, 0.5, 1, causal=False
            ),
            "the weights are summed and not averaged": want * window,
            "the scaling is left out": by_hand(queries, keys, 1.0, 1),
        }
        got = answer.window_scores(queries, keys, 0.5, 1)
        compare(got, want, window, mistakes=mistakes)


@check(points=2, likely="head h reads key-value head h // R; the mean is over its group.")
def test_groups(answer):
    """Six query heads on two key-value heads, on one, and on six"""
    for kv_heads in (2, 1, 6):
        queries, keys = states(603, kv_heads=kv_heads)
        want = by_hand(queries, keys, 0.4, 1)
        mistakes = {
            "head h reads key-value head h % K": by_hand(
                queries, keys, 0.4, 1, group=lambda h: h % kv_heads
            ),
            "the heads of a group are summed": want * (6 // kv_heads),
        }
        got = answer.window_scores(queries, keys, 0.4, 1)
        compare(got, want, 4, mistakes=mistakes)


@check(points=2, likely="pool each head over neighbours, then average the heads.")
def test_pooling(answer):
    """Neighbours of a winner, at the ends as well"""
    for kernel in (3, 7):
        queries, keys = states(604)
        want = by_hand(queries, keys, 0.9, kernel)
        mistakes = {
            "heads are averaged before they are pooled": by_hand(
                queries, keys, 0.9, kernel, order="mean"
            ),
            "nothing is pooled": by_hand(queries, keys, 0.9, 1),
        }
        got = answer.window_scores(queries, keys, 0.9, kernel)
        compare(got, want, 4, mistakes=mistakes)


@check(points=1, likely="large logits overflow, or an empty part is pooled.")
def test_edges(answer):
    """Logits of a thousand, a text that is all window, kernels that are none"""
    queries, keys = states(605)
    got = answer.window_scores(300 * queries, keys, 1.0, 3)
    compare(got, by_hand(300 * queries, keys, 1.0, 3), 4)
    queries, keys = states(606, window=5, length=5)
    got = answer.window_scores(queries, keys, 1.0, 3)
    expect(
        tuple(got.shape) == (2, 5) and bool(torch.isinf(got).all()),
        "where the window is the whole text, all scores are +inf",
    )
    for kernel in (0, 4):
        expect_raises(answer.window_scores, queries, keys, 1.0, kernel, mentions="kernel")
