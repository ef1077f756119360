"""Checks of ch06/key_scores."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="Keys alone",
    difficulty=1,
    minutes=15,
    hints=(
        "Nine keys point north, one is ten times as long and points east. Where does "
        "the mean of the keys point, and where the mean of their directions?",
        "Divide each key by its length, average, divide the average by its length; the "
        "cosine is then a product. Watch lengths of 0 and the dtype.",
        "d = k / where(length > 0, length, 1) on keys.float(); a = d.mean(1, "
        "keepdim=True), normalised alike; -(d * a).sum(-1).",
    ),
)

ROUNDING = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-5}
"""Products of 8 numbers; half-precision keys are exact, the arithmetic is float32."""


def random_keys(seed, heads=2, length=20, dim=8):
    """Keys around a common direction of their head."""
    generator = torch.Generator().manual_seed(seed)
    keys = torch.randn(heads, length, dim, generator=generator, dtype=torch.float64)
    common = torch.randn(heads, 1, dim, generator=generator, dtype=torch.float64)
    stretch = torch.rand(heads, length, 1, generator=generator, dtype=torch.float64)
    return (keys + 0.4 * common) * (0.1 + 5 * stretch)


def by_hand(keys, of_directions=True):
    """The definition with Python's floats."""
    scores = []
    for head in keys.tolist():
        lengths = [math.hypot(*k) for k in head]
        units = [
            [x / n for x in k] if n else [0.0] * len(k) for k, n in zip(head, lengths)
        ]
        summed = units if of_directions else head
        mean = [sum(column) / len(head) for column in zip(*summed)]
        size = math.hypot(*mean) or 1.0
        scores.append([-sum(x * y / size for x, y in zip(u, mean)) for u in units])
    return torch.tensor(scores, dtype=torch.float64)


@check(points=1, likely="the score is minus the length: short keys stay.")
def test_knorm(answer):
    """Lengths of keys, in three precisions"""
    keys = random_keys(621)
    for dtype in (torch.float64, torch.float32, torch.float16):
        given = keys.to(dtype)
        want = -torch.tensor(
            [[math.hypot(*k) for k in head] for head in given.double().tolist()],
            dtype=torch.float64,
        )
        want = want if dtype == torch.float64 else want.float()
        mistakes = {
            "long keys stay": -want,
            "the length is squared": -(want**2),
        }
        got = answer.knorm(given)
        name = f"KNorm's score of {dtype} keys"
        expect_same(got, want, tolerance=ROUNDING[dtype], mistakes=mistakes, name=name)


@check(points=2, likely="directions are averaged, not keys, head by head.")
def test_keydiff(answer):
    """Cosines with the mean direction of each head"""
    keys = random_keys(622, heads=3)
    want = by_hand(keys)
    every = keys.reshape(1, -1, 8)
    mistakes = {
        "keys are averaged and not their directions": by_hand(keys, of_directions=False),
        "similar keys stay": -want,
        "all heads share one direction": by_hand(every).view(3, -1),
    }
    got = answer.keydiff(keys)
    expect_same(got, want, tolerance=1e-12, mistakes=mistakes)


@check(points=2, likely="0 / 0; or a tiny number is added to the length.")
def test_no_direction(answer):
    """Keys of length 0 and of length 1e-20, opposite keys, one key"""
    keys = random_keys(623)
    keys[0, [2, 7]] = 0
    keys[1, 5] = 0
    expect_same(answer.keydiff(keys), by_hand(keys), tolerance=1e-12)
    tiny = keys.clone()
    tiny[0, 3] *= 1e-20
    expect_same(answer.keydiff(tiny), by_hand(keys), tolerance=1e-12, name="with a tiny key")
    nothing = torch.zeros(1, 4, 8, dtype=torch.float64)
    expect_same(answer.keydiff(nothing), torch.zeros(1, 4, dtype=torch.float64))
    opposite = torch.zeros(1, 2, 8, dtype=torch.float64)
    opposite[0, 0, 0], opposite[0, 1, 0] = 2.0, -3.0
    want = torch.zeros(1, 2, dtype=torch.float64)
    expect_same(answer.keydiff(opposite), want, name="of two opposite keys")


@check(points=1, likely="squares overflow in float16: convert before you square.")
def test_half_precision(answer):
    """Numbers of several hundred in float16"""
    keys = (100 * random_keys(624)).half()
    keys[0, 0] = 400.0
    want = by_hand(keys.double()).float()
    got = answer.keydiff(keys)
    expect_same(got, want, tolerance=1e-5, name="KeyDiff's score of float16 keys")
    want = -keys.double().norm(dim=-1).float()
    got = answer.knorm(keys)
    expect_same(got, want, tolerance=1e-6, name="KNorm's score of float16 keys")
