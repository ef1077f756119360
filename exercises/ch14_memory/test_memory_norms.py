"""Checks of ch14/memory_norms."""

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=3,
    title="Bounds of a memory, and who reaches them",
    difficulty=2,
    minutes=30,
    hints=(
        "A weighted mean of matrices is no longer than the longest of them, and "
        "|phi v'| = |phi| |v|.",
        "For the plain sum in one direction, norms add: a round that is a old has faded "
        "to gamma^a of what it was.",
        "For the worst case a single key is enough. With one key k, the answer's length is "
        "sum q_f k_f over the root of sum (q_f k_f)^2. When is that largest?",
    ),
)

ROUNDING = 1e-12
"""Sums of a dozen squares, in float64."""


def made(seed, features=5, dim=3, value=4, length=8):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator).double()

    return draw(length, dim), draw(length, value), draw(features, dim)


@check(points=3, likely="the longest features and the longest value may belong to different keys.")
def test_bounds(answer):
    """Both bounds, from the longest features and the longest values"""
    for seed in (1420, 1421):
        keys, values, phi = made(seed)
        features = [sum(float(row @ k) ** 2 for row in phi) ** 0.5 for k in keys]
        lengths = [sum(float(x) ** 2 for x in v) ** 0.5 for v in values]
        want = max(features) * max(lengths), 5**0.5 * max(lengths)
        mistakes = {
            "keys are taken for features": (
                float(keys.norm(dim=1).max()) * max(lengths), want[1]
            ),
            "of each key only its own product counts": (
                max(f * v for f, v in zip(features, lengths)), want[1]
            ),
            "the root is missing": (want[0], 5 * max(lengths)),
            "the key's width is taken for the number of features": (
                want[0], 3**0.5 * max(lengths)
            ),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x[0] - want[0]) > 1e-9 or x[1] != want[1]}
        got = answer.bounds(keys, values, phi)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=("write", "answer"))


@check(points=2, likely="a mean of equal things stays; a fading sum tends to 1 / (1 - gamma).")
def test_after(answer):
    """Norms after many rounds: the weighted mean, and the plain sum"""
    for gamma in (0.0, 0.9, 1.0):
        for rounds in (1, 2, 50):
            total = 0.0
            for _ in range(rounds):
                total = gamma * total + 2.5
            mistakes = {
                "rounds before the last are forgotten": 2.5,
                "nothing fades": 2.5 * rounds,
                "one round too many": 2.5 * (total / 2.5 * gamma + 1),
                "it is the limit of endless rounds": 2.5 / max(1 - gamma, 1e-9),
            }
            mistakes = {k: x for k, x in mistakes.items() if abs(x - total) > 1e-9}
            got = answer.after(2.5, rounds, gamma, False)
            expect_same(got, total, tolerance=1e-9, mistakes=mistakes)
            mistakes = {} if rounds == 1 or gamma == 0 else {"the mean grows too": total}
            got = answer.after(2.5, rounds, gamma, True)
            expect_same(got, 2.5, tolerance=1e-9, mistakes=mistakes)


@check(points=4, likely="all products q_f k_f of the one key must be equal.")
def test_worst(answer):
    """An answer as long as the bound allows"""
    for features in (1, 2, 7, 64):
        keys, weights, query = answer.worst(features)
        expect_shapes(keys, weights, query, features)
        expect(
            bool((weights >= 0).all()) and abs(float(weights.sum()) - 1) < 1e-9,
            f"weights are {weights.tolist()[:4]}; they must be >= 0 and sum to 1",
        )
        value = torch.tensor([0.6, 0.8], dtype=torch.float64)
        top = sum(w * torch.outer(k, value) for w, k in zip(weights, keys))
        under = sum(w * k.square() for w, k in zip(weights, keys))
        square = float(query.square() @ under)
        expect(square > 0, "the query is orthogonal to all that was written")
        length = float((query @ top).norm()) / square**0.5
        expect(
            abs(length - features**0.5) <= 1e-9 * features**0.5,
            f"with {features} features the answer has length {length:.6g}; "
            f"{features**0.5:.6g} can be reached",
        )


def expect_shapes(keys, weights, query, features):
    like = torch.zeros(1, dtype=torch.float64)
    for name, tensor in (("keys", keys), ("weights", weights), ("query", query)):
        expect(isinstance(tensor, torch.Tensor) and tensor.dtype == like.dtype,
               f"{name} must be a float64 tensor")
    expect(keys.dim() == 2 and keys.shape[1] == features and len(keys) >= 1,
           f"keys have shape {list(keys.shape)}; need [S, {features}]")
    expect(list(weights.shape) == [len(keys)], f"weights have shape {list(weights.shape)}")
    expect(list(query.shape) == [features], f"the query has shape {list(query.shape)}")
