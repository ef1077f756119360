"""Checks of ch07/padded_gather."""

import itertools
import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="One width for all heads",
    difficulty=2,
    minutes=25,
    hints=(
        "Three heads keep 2, 0 and 3 keys, and the tensor is 3 wide. Which of its "
        "nine places hold something, and which weight must the others get?",
        "Sort the mask, not the keys: 'was evicted' is 0 or 1, and a stable sort "
        "moves the kept keys to the front without changing their order.",
        "order = (~kept).to(torch.uint8).argsort(-1, stable=True)[..., :widest], then "
        "gather; masked_fill the padding with 0, in attention the logits with -inf.",
    ),
)

PARTS = "keys", "lengths"
ROUNDING = 1e-12
"""float64 sums of at most 20 terms of order 1 round to about 1e-15."""


def random_case(seed, batch, heads, length, dim=4, dtype=torch.float64):
    """Keys, not contiguous, and a mask; the first head keeps nothing."""
    g = torch.Generator().manual_seed(seed)
    keys = torch.randn(batch, length, heads, dim, generator=g).to(dtype).transpose(1, 2)
    kept = torch.rand(batch, heads, length, generator=g) < 0.4
    kept[0, 0] = False
    return keys, kept


def padded(keys, kept, backwards=False):
    """Kept keys at the front, head by head."""
    lengths = kept.sum(-1)
    batch, heads, _, dim = keys.shape
    out = torch.zeros(batch, heads, int(lengths.max()), dim, dtype=keys.dtype)
    for b in range(batch):
        for k in range(heads):
            rows = keys[b, k][kept[b, k]]
            out[b, k, : len(rows)] = rows.flip(0) if backwards else rows
    return out, lengths


@check(points=2, likely="kept keys come first, in order of time, and zeros after them.")
def test_gather(answer):
    """Two sequences of three heads, one of them empty"""
    for seed, dtype in ((711, torch.float64), (712, torch.bfloat16)):
        keys, kept = random_case(seed, 2, 3, 40, dtype=dtype)
        want = padded(keys, kept)
        mistakes = {"the keys run backwards": padded(keys, kept, backwards=True)}
        got = answer.gather_padded(keys, kept)
        expect_same(got, want, mistakes=mistakes, parts=PARTS)


@check(points=1, likely="an evicted key may be infinite: 0 times it is no number.")
def test_evicted_infinities(answer):
    """Evicted keys that are infinite leave no trace"""
    keys, kept = random_case(713, 1, 3, 9)
    want = padded(keys, kept)
    keys = keys.masked_fill(~kept[..., None], torch.inf)
    expect_same(answer.gather_padded(keys, kept), want, parts=PARTS)


@check(points=1, likely="the width is what the widest head keeps, also if that is 0.")
def test_widths(answer):
    """Everything kept, one key kept, nothing kept at all"""
    keys, kept = random_case(714, 1, 2, 5)
    for count in (5, 1, 0):
        kept = torch.arange(5).expand(1, 2, 5) >= 5 - count
        got = answer.gather_padded(keys, kept)
        expect_same(got, padded(keys, kept), parts=PARTS)


def attended(query, keys, values, kept):
    """Softmax attention over the kept keys, key by key in Python numbers."""
    out = torch.zeros_like(query)
    for b, k, r in itertools.product(*map(range, query.shape[:3])):
        q, places = query[b, k, r], kept[b, k].nonzero()[:, 0].tolist()
        logits = [(q @ keys[b, k, s]).item() / q.numel() ** 0.5 for s in places]
        weights = [math.exp(x - max(logits)) for x in logits]
        for s, w in zip(places, weights):
            out[b, k, r] += w / math.fsum(weights) * values[b, k, s]
    return out


@check(points=3, likely="padding needs the logit -inf: a logit of 0 has a weight.")
def test_attention(answer):
    """Attention equals attention over the kept keys, whatever the padding holds"""
    g = torch.Generator().manual_seed(715)
    for seed, filling in ((716, 0.0), (717, 50.0)):
        keys, kept = random_case(seed, 2, 3, 10)
        values, _ = random_case(seed + 10, 2, 3, 10)
        query = 2 * torch.randn(2, 3, 3, 4, generator=g, dtype=torch.float64)
        want = attended(query, keys, values, kept)
        wide_keys, lengths = padded(keys, kept)
        wide_values, _ = padded(values, kept)
        padding = torch.arange(wide_keys.shape[2]) >= lengths[..., None]
        zeros = query @ wide_keys.transpose(2, 3) / 2
        mistakes = {
            "padding has the logit 0": zeros.softmax(-1) @ wide_values,
            "logits are not divided by sqrt(D)": attended(
                2 * query, keys, values, kept
            ),
        }
        wide_keys[padding], wide_values[padding] = filling, filling
        got = answer.attend_padded(query, wide_keys, wide_values, lengths)
        name = "the attention output"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)
