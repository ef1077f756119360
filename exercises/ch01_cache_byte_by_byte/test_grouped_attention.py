"""Checks of ch01/grouped_attention."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="Attention with shared key-value heads",
    difficulty=2,
    minutes=25,
    hints=(
        "Start with one sequence, one head and T = S. Which shapes have the scores, "
        "and along which of their axes do the weights sum to 1?",
        "Heads 0 .. R-1 read key-value head 0, the next R read head 1: what does "
        "reshape do to H when you split it into K and R? For the mask, ask which "
        "position query t stands at.",
        "Query t sees j <= S - T + t, so torch.arange(S) > torch.arange(S - T, S)"
        "[:, None] is hidden. q.reshape(B, K, R, T, D) meets k[:, :, None] in the product.",
    ),
)

SINGLE = 1e-5
"""float32 keeps about 1e-7; dot products of a few terms stay within 1e-6."""
DOUBLE = 1e-12
"""The same in float64, which keeps about 1e-16."""


def by_loops(q, k, v, seen=None, kv_head=None):
    """The definition, one query at a time, in float64.

    seen(t) counts the positions that query t sees and kv_head(h) is the head it
    reads; replacing either one gives the value of a mistake.
    """
    (B, H, T, D), (K, S) = q.shape, k.shape[1:3]
    seen = seen or (lambda t: S - T + t + 1)
    kv_head = kv_head or (lambda h: h // (H // K))
    out = torch.zeros(B, H, T, D, dtype=torch.float64)
    for b in range(B):
        for h in range(H):
            keys, values = k[b, kv_head(h)].double(), v[b, kv_head(h)].double()
            for t in range(T):
                scores = [
                    (q[b, h, t].double() @ keys[j]).item() for j in range(seen(t))
                ]
                top = max(scores)
                weights = [math.exp((x - top) / math.sqrt(D)) for x in scores]
                for j, weight in enumerate(weights):
                    out[b, h, t] += weight / sum(weights) * values[j]
    return out


def random_qkv(seed, B, H, K, T, S, D, dtype=torch.float64):
    """Queries, keys and values as a model has them: transposed, not contiguous."""
    generator = torch.Generator().manual_seed(seed)

    def tensor(heads, length):
        x = torch.randn(B, length, heads, D, generator=generator, dtype=dtype)
        return x.transpose(1, 2)

    return tensor(H, T), tensor(K, S), tensor(K, S)


@check(points=2, likely="a query sees later positions, or its weights do not sum to 1.")
def test_running_mean(answer):
    """Queries of zero weigh alike: the output is a running mean"""
    q = torch.zeros(1, 1, 3, 1, dtype=torch.float64)
    k = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64).reshape(1, 1, 3, 1)
    v = torch.tensor([6.0, 2.0, -5.0], dtype=torch.float64).reshape(1, 1, 3, 1)
    want = torch.tensor([6.0, 4.0, 1.0], dtype=torch.float64).reshape(1, 1, 3, 1)
    mistakes = {
        "every query sees every position": torch.full_like(want, 1.0),
        "a query sees what comes before it but not itself": want.roll(1, dims=2),
    }
    got = answer.grouped_attention(q, k, v)
    expect_same(got, want, tolerance=DOUBLE, mistakes=mistakes)


@check(points=2, likely="the mask, the scale or the axis of the softmax is not right.")
def test_last_queries(answer):
    """Fewer queries than positions: they are the last ones"""
    q, k, v = random_qkv(101, B=1, H=2, K=2, T=3, S=7, D=5)
    mistakes = {
        "query t is taken to stand at position t": by_loops(
            q, k, v, seen=lambda t: t + 1
        ),
        "every query sees every position": by_loops(q, k, v, seen=lambda t: 7),
        "the scores are not divided by sqrt(D)": by_loops(q * math.sqrt(5), k, v),
        "the scores are divided by D": by_loops(q / math.sqrt(5), k, v),
    }
    got = answer.grouped_attention(q, k, v)
    expect_same(got, by_loops(q, k, v), tolerance=DOUBLE, mistakes=mistakes)


@check(points=2, likely="query head h reads key-value head h // R.")
def test_groups_of_three(answer):
    """Six query heads on two key-value heads, two sequences"""
    q, k, v = random_qkv(102, B=2, H=6, K=2, T=4, S=6, D=5)
    mistakes = {"head h reads h % K": by_loops(q, k, v, kv_head=lambda h: h % 2)}
    got = answer.grouped_attention(q, k, v)
    expect_same(got, by_loops(q, k, v), tolerance=DOUBLE, mistakes=mistakes)


@check(points=1, likely="exp overflows: subtract each row's largest score first.")
def test_large_scores(answer):
    """Scores of several thousand, in float32"""
    q, k, v = random_qkv(103, B=1, H=3, K=1, T=2, S=5, D=3, dtype=torch.float32)
    q, k = 64 * q, 64 * k
    got = answer.grouped_attention(q, k, v)
    expect_same(got, by_loops(q, k, v).float(), tolerance=SINGLE)


@check(points=1, likely="shapes that do not fit are not refused.")
def test_refusals(answer):
    """Heads that do not divide, more queries than positions: ValueError"""
    for H, K, T, S in ((5, 2, 1, 3), (2, 2, 4, 3)):
        q, k, v = random_qkv(104, B=1, H=H, K=K, T=T, S=S, D=3)
        expect_raises(answer.grouped_attention, q, k, v, mentions="q_bhtd")
