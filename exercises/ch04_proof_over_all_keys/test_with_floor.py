"""Checks of ch04/with_floor."""

import math
from fractions import Fraction
from itertools import combinations

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="A floor under the kept mass",
    difficulty=1,
    minutes=15,
    hints=(
        "Which set of a given size keeps the most mass? Which share of that mass do "
        "you ask of the others?",
        "Try every set, as for the best set of chapter 2, but skip the ones that are "
        "too light before you compare errors.",
        "least = floor * p.sort(descending=True).values[:size].sum() - 1e-12; skip a "
        "set where p[list(A)].sum() < least.",
    ),
)

ROUNDING = 1e-11
"""float64 rounds these errors to about 1e-15; a tie may hide up to 1e-12."""
PARTS = "indices", "error"


def random_row(seed, keys, dim):
    """A peaked row whose values are not contiguous."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(2 * torch.randn(keys, generator=generator).double(), -1)
    return p, torch.randn(dim, keys, generator=generator).double().T


def by_fractions(p, v, size, floor):
    """The first best set in exact arithmetic, floor being a fraction."""
    p = [Fraction(x) for x in p.tolist()]
    v = [[Fraction(x) for x in line] for line in v.tolist()]
    least = floor * sum(sorted(p)[-size:])
    found = []
    for subset in combinations(range(len(p)), size):
        mass, square = sum(p[j] for j in subset), Fraction(0)
        for d in range(len(v[0])):
            mu = sum(p[j] * v[j][d] for j in range(len(p)))
            square += (mu - sum(p[j] * v[j][d] for j in subset) / mass) ** 2
        if mass >= least:
            found.append((square, subset))
    square, best = min(found)
    return best, math.sqrt(square)


@check(points=2, likely="sets that keep too little mass must not win.")
def test_light_keys(answer):
    """Light keys that average to the output by chance, by hand"""
    p = torch.tensor([0.5, 0.375, 0.0625, 0.0625], dtype=torch.float64)
    v = torch.tensor([[1.0], [-1.0], [0.5], [-0.21875]], dtype=torch.float64)
    # mu = .5 - .375 + .03125 - .013672 = .142578, and {2, 3} has a mean of .140625
    for floor, share in ((0.0, Fraction(0)), (0.9, Fraction(9, 10))):
        want, name = by_fractions(p, v, 2, share), f"the result for floor {floor}"
        mistakes = {"the floor is ignored": by_fractions(p, v, 2, 0)}
        got = answer.with_floor(p, v, 2, floor)
        expect_same(
            got, want, tolerance=ROUNDING, parts=PARTS, mistakes=mistakes, name=name
        )


@check(points=2, likely="the floor is a share of what the top-mass set keeps.")
def test_random_rows(answer):
    """Random rows, several sizes and floors"""
    for seed, size in ((401, 2), (402, 3), (403, 5), (404, 1), (405, 7)):
        p, v = random_row(seed, keys=9, dim=2)
        for floor in (Fraction(1, 4), Fraction(1, 2), Fraction(7, 8)):
            want = by_fractions(p, v, size, floor)
            top = Fraction(sum(sorted(p.tolist())[-size:]))
            mistakes = {"the floor is ignored": by_fractions(p, v, size, 0)}
            if floor <= top:
                alone = by_fractions(p, v, size, floor / top)
                mistakes["the floor is a share of 1"] = alone
            mistakes = {why: x for why, x in mistakes.items() if x[0] != want[0]}
            name = f"the result for size {size}, floor {float(floor)}"
            got = answer.with_floor(p, v, size, float(floor))
            expect_same(
                got, want, tolerance=ROUNDING, parts=PARTS, mistakes=mistakes, name=name
            )


@check(points=1, likely="rounding must not exclude a set that is on the floor.")
def test_on_the_floor(answer):
    """Sets exactly on the floor: a floor of 1 and equal weights"""
    p = torch.tensor([0.1, 0.2, 0.3, 0.1, 0.2, 0.1], dtype=torch.float64)
    v = torch.tensor([[4.0], [-1.0], [0.5], [3.0], [2.0], [-2.0]], dtype=torch.float64)
    # mu = .85. The three heaviest have a mean of .35 / .7, and with one of the keys
    # of weight .1 beside them: 0 .9375, 3 .8125, 5 .1875.
    got = answer.with_floor(p, v, 3, 1.0)
    expect_same(got, ((1, 2, 4), 0.35), tolerance=ROUNDING, parts=PARTS)
    got = answer.with_floor(p, v, 4, 1.0)
    expect_same(got, ((1, 2, 3, 4), 0.85 - 0.65 / 0.8), tolerance=ROUNDING, parts=PARTS)
    # Key 1 is at mu = 0, but a little too light: 0.25 against .95 * .28125.
    p = torch.tensor([0.28125, 0.25, 0.25, 0.21875], dtype=torch.float64)
    v = torch.tensor([[1.0], [0.0], [-2.0], [1.0]], dtype=torch.float64)
    got = answer.with_floor(p, v, 1, 0.95)
    expect_same(got, ((0,), 1.0), tolerance=ROUNDING, parts=PARTS)
    p = torch.full((8,), 0.125, dtype=torch.float64)
    v = torch.arange(8, dtype=torch.float64).square()[:, None]
    for size in (2, 3, 4):
        want = by_fractions(p, v, size, Fraction(1))
        got = answer.with_floor(p, v, size, 1.0)
        expect_same(got, want, tolerance=ROUNDING, parts=PARTS)


@check(points=1, likely="floors that no set can be asked for are not refused.")
def test_refusals(answer):
    """Floors below 0 and above 1: ValueError"""
    p, v = random_row(406, keys=4, dim=2)
    for floor in (-0.1, 1.5):
        expect_raises(answer.with_floor, p, v, 2, floor, mentions="floor")
