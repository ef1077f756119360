"""Checks of ch01/decode_step."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="One step of decoding",
    difficulty=2,
    minutes=20,
    hints=(
        "Take an empty cache. What is the output for the very first token, and what "
        "must be in the cache before it can be computed?",
        "torch.cat along the position axis makes a new tensor; the new key needs that "
        "axis first. With one query, is there anything to hide?",
        "keys = torch.cat([keys_bksd, k_bkd[:, :, None]], dim=2), the same for values; "
        "then q_bhd.reshape(B, K, R, D) @ keys.transpose(-1, -2) / sqrt(D).",
    ),
)

ROUNDING = 1e-12
"""float64 sums of a few terms of order 1 round to about 1e-15."""
PARTS = "output", "keys", "values"


def random_tokens(seed, B, H, K, S, D):
    """Queries, keys and values of S tokens: [B, H, S, D], [B, K, S, D] twice."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((B, S, heads, D) for heads in (H, K, K))
    tensors = [torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes]
    return [x.transpose(1, 2) for x in tensors]


def last_row(q, keys, values, kv_head=None, scale=None):
    """Attention of the last token over all tokens, head by head."""
    (B, H, _, D), K = q.shape, keys.shape[1]
    kv_head = kv_head or (lambda h: h // (H // K))
    out = torch.zeros(B, H, D, dtype=torch.float64)
    for b in range(B):
        for h in range(H):
            k, v = keys[b, kv_head(h)], values[b, kv_head(h)]
            scores = [(q[b, h, -1] @ key).item() / (scale or math.sqrt(D)) for key in k]
            weights = [math.exp(score - max(scores)) for score in scores]
            for weight, value in zip(weights, v):
                out[b, h] += weight / sum(weights) * value
    return out


@check(points=1, likely="the token does not attend to itself.")
def test_first_token(answer):
    """An empty cache: the output is the token's own value"""
    q, k, v = random_tokens(105, B=2, H=3, K=1, S=1, D=5)
    empty = torch.zeros(2, 1, 0, 5, dtype=torch.float64)
    got = answer.decode_step(q[:, :, 0], k[:, :, 0], v[:, :, 0], empty, empty)
    want = v[:, [0, 0, 0], 0], k.contiguous(), v.contiguous()
    expect_same(got, want, tolerance=ROUNDING, parts=PARTS)


@check(points=2, likely="the output is not that of attention over all S + 1 tokens.")
def test_one_step(answer):
    """Six query heads on two key-value heads, two sequences"""
    q, k, v = random_tokens(106, B=2, H=6, K=2, S=8, D=5)
    want = last_row(q, k, v)
    mistakes = {
        "head h reads h % K": (last_row(q, k, v, kv_head=lambda h: h % 2), k, v),
        "the new token is not attended to": (
            last_row(q, k[:, :, :-1], v[:, :, :-1]),
            k,
            v,
        ),
        "the scores are not divided by sqrt(D)": (last_row(q, k, v, scale=1), k, v),
    }
    step = q[:, :, -1], k[:, :, -1], v[:, :, -1]
    got = answer.decode_step(*step, k[:, :, :-1], v[:, :, :-1])
    expect_same(got, (want, k, v), tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=2, likely="the cache that is returned is not the one to go on with.")
def test_token_by_token(answer):
    """Five steps from an empty cache equal one full computation"""
    q, k, v = random_tokens(107, B=1, H=3, K=1, S=5, D=3)
    keys = values = torch.zeros(1, 1, 0, 3, dtype=torch.float64)
    for t in range(5):
        step = q[:, :, t], k[:, :, t], v[:, :, t]
        got = answer.decode_step(*step, keys, values)
        seen = slice(t + 1)
        want = last_row(q[:, :, seen], k[:, :, seen], v[:, :, seen])
        want = want, k[:, :, seen], v[:, :, seen]
        expect_same(got, want, tolerance=ROUNDING, name=f"step {t}", parts=PARTS)
        _, keys, values = got


@check(points=1, likely="exp overflows: subtract the largest score first.")
def test_large_scores(answer):
    """Scores of several thousand"""
    q, k, v = random_tokens(108, B=1, H=3, K=1, S=4, D=3)
    q, k = 64 * q, 64 * k
    step = q[:, :, -1], k[:, :, -1], v[:, :, -1]
    got = answer.decode_step(*step, k[:, :, :-1], v[:, :, :-1])
    expect_same(got, (last_row(q, k, v), k, v), tolerance=ROUNDING, parts=PARTS)
