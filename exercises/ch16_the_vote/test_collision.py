"""Checks of ch16/collision."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="Concentrated, with the sinks and without",
    difficulty=1,
    minutes=15,
    hints=(
        "Which of the steps must come first: taking the sinks out, or dividing by the sum?",
        "Collisions: two draws hit the same key with probability sum of squares. For the "
        "other orders, which three values of `order` need a line of their own?",
        "isolated: clone, zero, divide by the row's sum, clamped from below. renyi: "
        "torch.special.entr for order 1, the largest weight for infinity, and for all "
        "others powers of the weights above 0.",
    ),
)

ROUNDING = 1e-10
"""Logarithms of sums over a few hundred float64 numbers."""


def rows(seed, heads=3, length=40):
    """Distributions with a heavy start, some weights exactly 0."""
    generator = torch.Generator().manual_seed(seed)
    mass = torch.rand(heads, length, generator=generator, dtype=torch.float64).pow(6)
    mass[torch.rand(mass.shape, generator=generator) < 0.2] = 0
    mass[:, 1] += 3
    return mass / mass.sum(1, keepdim=True)


def pure(rest, count, sinks=4):
    """A head with 1 - rest on the first key, the rest even over ``count`` others."""
    row = torch.zeros(1, sinks + count, dtype=torch.float64)
    row[0, 0] = 1 - rest
    row[0, sinks:] = rest / count
    return row


@check(points=2, likely="the first keys become 0 before the sum is taken.")
def test_isolated(answer):
    """Sinks taken out, rows of sum 1"""
    for seed, sinks in ((1600, 4), (1601, 1), (1602, 0)):
        mass = rows(seed)
        want = torch.zeros_like(mass)
        for h, row in enumerate(mass.tolist()):
            total = sum(row[sinks:])
            for t in range(sinks, len(row)):
                want[h, t] = row[t] / total
        cut = mass.clone()
        cut[:, :sinks] = 0
        mistakes = {
            "the rest is not scaled": cut,
            "the sum has the sinks in it": cut / mass.sum(1, keepdim=True),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        expect_same(answer.isolated(mass, sinks), want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=1, likely="the sum is clamped from below by 1e-12, not the weights.")
def test_nothing_left(answer):
    """All weight on the sinks, or nearly all"""
    mass = torch.zeros(2, 9, dtype=torch.float64)
    mass[0, 0] = 1
    mass[1, 0], mass[1, 5], mass[1, 7] = 1 - 4e-9, 1e-9, 3e-9
    want = torch.zeros_like(mass)
    want[1, 5], want[1, 7] = 0.25, 0.75
    expect_same(answer.isolated(mass, 4), want, tolerance=ROUNDING)


@check(points=2, likely="it is minus the logarithm of the sum of squares, plus 1e-12.")
def test_collision_entropy(answer):
    """ln N, 0, the clamp at 27.63, and rows at random"""
    even = torch.full((1, 1000), 1e-3, dtype=torch.float64)
    one = torch.zeros(1, 5, dtype=torch.float64)
    one[0, 2] = 1
    cases = [(even, math.log(1000)), (one, 0.0), (0 * one, 12 * math.log(10))]
    for p, value in cases:
        want = torch.tensor([value], dtype=torch.float64)
        # The 1e-12 beside 1e-3 moves the logarithm by 1e-9.
        expect_same(answer.collision_entropy(p), want, tolerance=3e-9)
    p = rows(1603)
    want = torch.tensor([-math.log(sum(x * x for x in row)) for row in p.tolist()],
                        dtype=torch.float64)
    shannon = torch.tensor([-sum(x * math.log(x) for x in row if x) for row in p.tolist()],
                           dtype=torch.float64)
    mistakes = {"it is Shannon's entropy": shannon, "the sign is turned": -want,
                "it is in bits": want / math.log(2)}
    expect_same(answer.collision_entropy(p), want, tolerance=1e-9, mistakes=mistakes)


@check(points=3, likely="order 1, order infinity, and weights of 0 need care.")
def test_renyi(answer):
    """Eight orders of rows with zeros"""
    p = rows(1604)
    for order in (0, 0.5, 1, 1.5, 2, 3, 9, math.inf):
        values = []
        for row in p.tolist():
            row = [x for x in row if x > 0]
            if order == 1:
                values.append(-sum(x * math.log(x) for x in row))
            elif order == math.inf:
                values.append(-math.log(max(row)))
            else:
                values.append(math.log(sum(x**order for x in row)) / (1 - order))
        want = torch.tensor(values, dtype=torch.float64)
        mistakes = {"keys of weight 0 are counted": torch.full_like(want, math.log(p.shape[1]))}
        got = answer.renyi(p, order)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=f"order {order}")
    for order in (0, 0.5, 1, 2, math.inf):
        want = torch.tensor([math.log(300)], dtype=torch.float64)
        expect_same(answer.renyi(pure(1.0, 300), order), want, tolerance=ROUNDING)


@check(points=1, likely="there is no entropy of a negative order here.")
def test_orders(answer):
    """A negative order: ValueError"""
    expect_raises(answer.renyi, rows(1605), -0.5, mentions="order")
