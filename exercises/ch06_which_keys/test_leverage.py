"""Checks of ch06/leverage."""

import math
from fractions import Fraction

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=5,
    title="How far a key stands out",
    difficulty=2,
    minutes=25,
    hints=(
        "A hundred keys lie in a plane and one points out of it. What is the leverage of "
        "that one, nearly, and what do all of them add up to?",
        "With K = U diag(s) V', the matrix K (K'K + ridge)^-1 K' is U diag(s^2 / (s^2 + "
        "ridge)) U'. You need its diagonal only.",
        "(U**2 * (s**2 / (s**2 + ridge))).sum(1); its sum is the effective rank. The "
        "direction is solve(K'K + ridge I, k_j) over its length.",
    ),
)

ROUNDING = 1e-9
"""Float64 against exact fractions, of matrices of condition up to 1e6."""


def whole_keys(seed, length=9, dim=4):
    """Keys of small whole numbers, so that fractions are exact."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-3, 4, (length, dim), generator=generator).double()


def exact(keys, ridge):
    """Leverages by Gauss-Jordan elimination in fractions."""
    rows = [[Fraction(x) for x in key] for key in keys.tolist()]
    dim = len(rows[0])
    left = [
        [sum(r[a] * r[b] for r in rows) + (Fraction(ridge) if a == b else 0) for b in range(dim)]
        + [Fraction(int(a == b)) for b in range(dim)]
        for a in range(dim)
    ]
    for a in range(dim):
        pivot = next(b for b in range(a, dim) if left[b][a] != 0)
        left[a], left[pivot] = left[pivot], left[a]
        left[a] = [x / left[a][a] for x in left[a]]
        for b in range(dim):
            if b != a:
                left[b] = [x - left[b][a] * y for x, y in zip(left[b], left[a])]
    inverse = [row[dim:] for row in left]
    return [
        float(sum(r[a] * inverse[a][b] * r[b] for a in range(dim) for b in range(dim)))
        for r in rows
    ]


@check(points=2, likely="k_j'(K'K + ridge I)^-1 k_j with the keys as they are.")
def test_leverages(answer):
    """Against exact fractions, for three ridges"""
    for seed, ridge in ((651, 0.5), (652, 4.0), (653, 0.001)):
        keys = whole_keys(seed)
        want = torch.tensor(exact(keys, ridge), dtype=torch.float64)
        centred = keys - keys.mean(0)
        metric = torch.eye(4, dtype=torch.float64) * ridge
        mistakes = {
            "keys are centred": (
                centred @ (centred.T @ centred + metric).inverse() * centred
            ).sum(1),
            "the square root is returned": want.sqrt(),
            "the ridge is squared": torch.tensor(exact(keys, ridge**2)).double(),
            "lengths are returned": keys.norm(dim=1),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        got = answer.leverage(keys, ridge)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="K'K is singular where S < D; squaring K loses half of the digits.")
def test_shapes_and_ranks(answer):
    """Fewer keys than dimensions, repeated keys, no keys' length, long keys"""
    keys = whole_keys(654, length=3, dim=6)
    want = torch.tensor(exact(keys, 0.25), dtype=torch.float64)
    expect_same(answer.leverage(keys, 0.25), want, tolerance=ROUNDING)
    # n times the same key: each has 1/n of what one key has, n k'k / (n k'k + ridge).
    same = torch.ones(8, 5, dtype=torch.float64)
    want = torch.full((8,), 5 / (40 + 2.0), dtype=torch.float64)
    expect_same(answer.leverage(same, 2.0), want, tolerance=1e-12)
    expect_same(
        answer.leverage(0 * same, 2.0), torch.zeros(8, dtype=torch.float64), tolerance=1e-12
    )
    # Long along (1, 1), short along (1, -1): squared, the short one is rounded away.
    short = torch.tensor([1.0, -1.0, 0.0], dtype=torch.float64)
    narrow = torch.stack([1e8 + short, 1e8 - short], 1)
    want = 1 / 3 + short.square() * 2 / (4 + 0.5)
    expect_same(answer.leverage(narrow, 0.5), want, tolerance=1e-5, name="of long keys")
    for ridge in (0.0, -1.0):
        expect_raises(answer.leverage, keys, ridge, mentions="ridge")


@check(points=1, likely="s^2 / (s^2 + ridge), added up; a Python float.")
def test_effective_rank(answer):
    """Two long directions and a short one"""
    keys = torch.diag(torch.tensor([10.0, 3.0, 0.1], dtype=torch.float64))
    keys = torch.cat([keys, torch.zeros(4, 3, dtype=torch.float64)])
    want = 100 / 101 + 9 / 10 + 0.01 / 1.01
    mistakes = {
        "singular values are not squared": 10 / 11 + 3 / 4 + 0.1 / 1.1,
        "the rank is counted": 3.0,
        "the mean leverage is returned": want / 7,
    }
    got = answer.effective_rank(keys, 1.0)
    expect_same(got, want, tolerance=1e-12, mistakes=mistakes)
    keys = whole_keys(655)
    want = math.fsum(exact(keys, 0.5))
    expect_same(answer.effective_rank(keys, 0.5), want, tolerance=ROUNDING)


@check(points=2, likely="M^-1 k_j over its length, not k_j itself.")
def test_direction(answer):
    """The share in the returned direction is the leverage, and no other is larger"""
    generator = torch.Generator().manual_seed(657)
    for seed, ridge in ((656, 0.5), (658, 3.0)):
        keys = whole_keys(seed) + torch.tensor([4.0, 0, 0, 0], dtype=torch.float64)
        for j in (0, 5):
            w = answer.standing_out(keys, ridge, j)
            want_length = torch.tensor(1.0, dtype=torch.float64)
            expect_same(w.norm(), want_length, tolerance=1e-12, name="the length of w")
            expect(float(keys[j] @ w) > 0, "k_j . w must be positive")
            share = ((keys[j] @ w) ** 2 / ((keys @ w).norm() ** 2 + ridge)).item()
            best = exact(keys, ridge)[j]
            name = f"key {j}'s share in your direction"
            expect_same(share, best, tolerance=ROUNDING, name=name)
            others = torch.randn(200, 4, generator=generator, dtype=torch.float64)
            shares = (others @ keys[j]) ** 2 / (
                (others @ keys.T).square().sum(1) + ridge * others.square().sum(1)
            )
            assert shares.max() <= best + 1e-12  # the proposition, on our side
    nothing = torch.cat([whole_keys(659), torch.zeros(1, 4, dtype=torch.float64)])
    got = answer.standing_out(nothing, 0.5, 9)
    want = torch.tensor([1.0, 0, 0, 0], dtype=torch.float64)
    expect_same(got, want, name="the direction of a key of length 0")
