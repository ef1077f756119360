"""Checks of ch14/small_storage."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="How much a memory really holds",
    difficulty=2,
    minutes=30,
    hints=(
        "phi(k_i) = Phi k_i. Take Phi out of the sum that defines M: what is left?",
        "M = Phi C, so phi(q)' M = (phi(q)' Phi) C. Entry f of b is the sum of "
        "w_i (Phi_f . k_i)^2, which is Phi_f Q Phi_f'.",
        "M is the smaller of F E and D E numbers; b is F numbers, or Q, which is symmetric "
        "and has D (D + 1) / 2 different ones.",
    ),
)

ROUNDING = 1e-10
"""Quotients of sums of a few dozen products, in float64, well away from zero."""


def made(seed, features, dim=4, value=3, length=12):
    """(queries, Phi, keys, values, weights)"""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator).double()

    return draw(5, dim), draw(features, dim), draw(length, dim), draw(length, value), draw(
        length).softmax(0)


def by_loops(queries, phi, keys, values, weights, root=True):
    """m(q) from M with all its features."""
    top = sum(w * torch.outer(phi @ k, v) for w, k, v in zip(weights, keys, values))
    under = sum(w * (phi @ k) ** 2 for w, k in zip(weights, keys))
    rows = []
    for query in queries:
        feature = phi @ query
        square = feature.square() @ under
        rows.append(feature @ top / (square.sqrt() if root else square))
    return torch.stack(rows)


def reduced(keys, values, weights):
    moments = (keys * weights[:, None]).T @ values
    return moments, (keys * weights[:, None]).T @ keys


@check(points=4, likely="b is the diagonal of Phi Q Phi'; the root is over the whole sum.")
def test_read(answer):
    """The answer from C and Q, for few and for many features"""
    for features in (2, 4, 30):
        queries, phi, keys, values, weights = made(1410 + features, features)
        want = by_loops(queries, phi, keys, values, weights)
        moments, squares = reduced(keys, values, weights)
        through = (queries @ phi.T).square() @ (phi.square() @ squares.diagonal())
        norm = (queries @ phi.T @ phi @ moments) / (queries @ phi.T).norm(dim=1)[:, None]
        mistakes = {
            "the root is missing, as in IndexMem": by_loops(
                queries, phi, keys, values, weights, root=False
            ),
            "only the diagonal of Q is used": (
                queries @ phi.T @ phi @ moments / through.sqrt()[:, None]
            ),
            "it is divided by the length of phi(q)": norm,
        }
        got = answer.read(queries, phi, moments, squares)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="the smaller of F E and D E, and the smaller of F and D (D + 1) / 2.")
def test_numbers(answer):
    """Numbers held, where features are few, many, and very many"""
    cases = {
        (64, 64, 64): 64 * 64 + 64,
        (512, 64, 64): 64 * 64 + 512,
        (32, 64, 64): 32 * 64 + 32,
        (512, 1024, 1024): 512 * 1024 + 512,
        (5000, 64, 64): 64 * 64 + 64 * 65 // 2,
        (3, 2, 7): 2 * 7 + 3,
        (9, 2, 1): 2 * 1 + 3,
    }
    for (features, width, value), want in cases.items():
        mistakes = {
            "M is held with all its features": features * value
            + min(features, width * (width + 1) // 2),
            "C is held, although M has fewer numbers": width * value
            + min(features, width * (width + 1) // 2),
            "b is forgotten": min(features, width) * value,
            "Q is held with both halves": min(features, width) * value
            + min(features, width * width),
            "b is held with all features": min(features, width) * value + features,
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        expect_same(answer.numbers(features, width, value), want, mistakes=mistakes)


@check(points=1, likely="a key costs D + E numbers, and part of a key cannot be given up.")
def test_keys_worth(answer):
    """What it is worth in keys, rounded up"""
    for case, held in (((64, 64, 64), 4160), ((512, 64, 64), 4608), ((3, 2, 7), 17), ((9, 2, 1), 5)):
        want = math.ceil(held / (case[1] + case[2]))
        mistakes = {
            "it is rounded down": held // (case[1] + case[2]),
            "a key has no value": math.ceil(held / case[1]),
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        expect_same(answer.keys_worth(*case), want, mistakes=mistakes)
    expect_same(answer.keys_worth(2, 2, 1), 2)  # 4 numbers, 3 a key
    expect_same(answer.keys_worth(1, 1, 1), 1)  # 2 numbers, 2 a key: exactly one
