"""Checks of ch07/ragged_decode."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="Decode over a ragged cache",
    difficulty=2,
    minutes=30,
    hints=(
        "Nine query heads, three key-value heads. Which rows of the query belong to "
        "the second key-value head, and which part of the flat list do they read?",
        "One key-value head at a time: cut its prefix out of the flat list, put its "
        "tail behind it, and let its R queries attend to both with one softmax.",
        "queries = query.to(wide).view(K, R, D); for each k: keys = cat([flat[start:"
        "stop], tail[k]]); (queries[k] @ keys.T / sqrt(D)).softmax(-1) @ values.",
    ),
)

ROUNDING = 1e-12
"""float64 sums of at most 30 terms of order 1 round to about 1e-15."""
COARSE = {torch.float32: 2e-6, torch.bfloat16: 2**-8, torch.float16: 2**-10}
"""float32 sums over few keys; one rounding of the output to its type."""


def random_case(seed, group, counts, tail=2, dim=4, dtype=torch.float64, size=1.0):
    """Query, flat keys and values, offsets, tail keys and values."""
    g = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return size * torch.randn(*shape, generator=g, dtype=torch.float64)

    heads = len(counts)
    flat = normal(2, sum(counts), dim)
    starts = [sum(counts[:i]) for i in range(heads + 1)]
    offsets = torch.tensor(starts, dtype=torch.int32)
    tails = normal(2, heads, tail, dim)
    query = 2 * normal(heads * group, dim)
    case = query, *flat, offsets, *tails
    return tuple(t if t is offsets else t.to(dtype) for t in case)


def decoded(query, keys, values, offsets, tail_keys, tail_values, shared=None, parts=3):
    """The definition, head by head in Python numbers.

    shared: which key-value head a query head reads; parts: 1 prefix, 2 tail, 3 both.
    """
    out = torch.zeros_like(query, dtype=torch.float64)
    heads, kv_heads = len(query), len(offsets) - 1
    for h in range(heads):
        k = shared(h) if shared else h // (heads // kv_heads)
        start, stop = offsets[k], offsets[k + 1]
        mine = [*keys[start:stop].double()] * (parts & 1)
        mine += [*tail_keys[k].double()] * (parts >> 1)
        what = [*values[start:stop].double()] * (parts & 1)
        what += [*tail_values[k].double()] * (parts >> 1)
        logits = [(query[h].double() @ x).item() / query.shape[1] ** 0.5 for x in mine]
        top = max(logits, default=0.0)
        weights = [math.exp(x - top) for x in logits]
        for w, v in zip(weights, what):
            out[h] += w / math.fsum(weights) * v
    return out


@check(points=2, likely="query head h reads key-value head h // R, prefix and tail.")
def test_groups(answer):
    """One, three and four query heads a group"""
    for seed, group in ((721, 1), (722, 3), (723, 4)):
        case = random_case(seed, group, (5, 2, 9))
        want = decoded(*case)
        mistakes = {
            "query head h reads key-value head h mod K": decoded(
                *case, shared=lambda h: h % 3
            ),
            "the tail is left out": decoded(*case, parts=1),
            "only the tail is read": decoded(*case, parts=2),
            "prefix and tail have a softmax each": decoded(*case, parts=1)
            + decoded(*case, parts=2),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        got = answer.ragged_decode(*case)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="a head that keeps nothing still sees its tail.")
def test_empty_prefixes(answer):
    """Heads that keep nothing, one key, or everything; an empty prefix"""
    for seed, counts, tail in ((724, (0, 7, 1), 3), (725, (0, 0), 1), (726, (4, 0), 1)):
        case = random_case(seed, 3, counts, tail=tail)
        got, want = answer.ragged_decode(*case), decoded(*case)
        expect_same(got, want, tolerance=ROUNDING)


@check(points=1, likely="the last head ends at the last offset, not at the list's end.")
def test_room_at_the_end(answer):
    """A flat list with room after the last entry"""
    case = list(random_case(727, 3, (3, 4)))
    want = decoded(*case)
    for i in (1, 2):
        case[i] = torch.cat([case[i], torch.full((5, 4), torch.nan).double()])
    expect_same(answer.ragged_decode(*case), want, tolerance=ROUNDING)


@check(points=2, likely="sums run in float32 and are rounded once, at the end.")
def test_types(answer):
    """float32, bfloat16 and float16, with logits that overflow float16"""
    for seed, dtype in enumerate(COARSE, start=728):
        for size in (1.0, 200.0 if dtype == torch.float16 else 3.0):
            case = random_case(
                seed, 3, (30, 0, 20), tail=2, dim=16, dtype=dtype, size=size
            )
            want = decoded(*case).to(dtype)
            got = answer.ragged_decode(*case)
            name = f"the output in {str(dtype).partition('.')[2]}"
            expect_same(got, want, tolerance=COARSE[dtype], name=name)


@check(points=1, likely="the R query heads of a group share what is read.")
def test_bytes(answer):
    """Bytes read in one step"""
    offsets = torch.tensor([0, 5, 5, 14], dtype=torch.int32)
    for tail, dim, itemsize in ((1, 64, 2), (10, 128, 4)):
        entry = 2 * dim * itemsize
        want = (5 + 0 + 9 + 3 * tail) * entry
        mistakes = {
            "values are left out": want // 2,
            "the tail counts once, not for every head": (14 + tail) * entry,
            "the tail is left out": 14 * entry,
        }
        got = answer.bytes_read(offsets, tail, dim, itemsize)
        expect_same(got, want, mistakes=mistakes)
