"""Checks of ch05/predictors."""

import math
import statistics
from fractions import Fraction

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=2,
    title="What foresees headroom",
    difficulty=1,
    minutes=15,
    hints=(
        "Two keys are drawn at random, each by its weight. How likely is it that both "
        "are the same key, if all weights are equal?",
        "Add up what is dropped instead of subtracting what is kept: think of a row "
        "whose other keys weigh a billionth of a billionth.",
        "p.sort(dim=-1).values[..., : S - size].sum(-1); 1 / p.square().sum(-1); for "
        "the cells mass[cell == c].quantile(0.5) > limit.",
    ),
)

ROUNDING = 1e-12
"""float64 sums of at most 60 terms of order 1 round to about 1e-15."""


def random_rows(seed, *shape, keys, sharpness=2.0):
    """Rows of weights, not contiguous."""
    generator = torch.Generator().manual_seed(seed)
    scores = sharpness * torch.randn(keys, *shape, generator=generator).double()
    return torch.softmax(scores.movedim(0, -1), -1)


@check(points=1, likely="the largest weights are kept; the others are added up.")
def test_dropped_mass(answer):
    """Dropped mass of a table of rows, several sizes"""
    p = random_rows(503, 2, 3, keys=9)
    for size in (1, 4, 8, 9):
        want = [[math.fsum(sorted(r.tolist())[: 9 - size]) for r in rows] for rows in p]
        want = torch.tensor(want, dtype=torch.float64)
        mistakes = {"the kept mass is returned": 1 - want}
        got, name = answer.dropped_mass(p, size), f"the dropped mass for size {size}"
        expect_same(got, want, tolerance=ROUNDING, name=name, mistakes=mistakes)


@check(points=1, likely="1 minus the kept mass is only rounding here.")
def test_almost_nothing_dropped(answer):
    """Sharp rows that drop less than float64 can subtract from 1"""
    p = [[1e-18, 1.0, 3e-19, 2e-19], [0.75, 1e-12, 0.25, 0.0]]
    p = torch.tensor(p, dtype=torch.float64)
    want = torch.tensor([5e-19, 1e-12], dtype=torch.float64)
    got = answer.dropped_mass(p, 2)
    expect_same(got, want, tolerance=1e-9, name="the dropped mass")
    relative = (got / want - 1).abs().max().item()
    expect(relative < 1e-9, f"the dropped mass is off by {relative:.1g} of itself")


@check(points=2, likely="the number is 1 / sum p^2: no logarithm, no largest weight.")
def test_effective_keys(answer):
    """Flat rows, sharp rows, rows padded with zeros"""
    p = torch.zeros(4, 8, dtype=torch.float64)
    p[0], p[1, 5], p[2, 1:4] = 0.125, 1.0, 1 / 3
    p[3, :3] = torch.tensor([0.5, 0.25, 0.25])
    want = torch.tensor([8.0, 1.0, 3.0, 8 / 3], dtype=torch.float64)
    mistakes = {
        "the entropy is used: exp(-sum p log p)": torch.special.entr(p).sum(-1).exp(),
        "only the largest weight is used": 1 / p.max(-1).values,
        "keys with a weight are counted": (p > 0).sum(-1).double(),
    }
    got = answer.effective_keys(p)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    p = random_rows(504, 3, 2, keys=15)
    squares = [[sum(Fraction(x) ** 2 for x in r.tolist()) for r in rows] for rows in p]
    want = torch.tensor(
        [[float(1 / x) for x in r] for r in squares], dtype=torch.float64
    )
    expect_same(answer.effective_keys(p), want, tolerance=ROUNDING)


@check(points=2, likely="a cell is flat by the median of its rows, not by their mean.")
def test_flat_cells(answer):
    """Cells of different sizes, one without rows"""
    p = torch.cat(
        [random_rows(505, 40, keys=12), random_rows(506, 40, keys=12, sharpness=4.0)]
    )
    generator = torch.Generator().manual_seed(508)
    cell = torch.randint(0, 15, (80,), generator=generator)
    cell[cell == 6] = 7
    for size, limit in ((2, 0.25), (3, 0.1)):
        drop = [sum(sorted(row)[: 12 - size]) for row in p.tolist()]
        groups = [[d for d, c in zip(drop, cell.tolist()) if c == k] for k in range(15)]

        def flat(middle):
            return torch.tensor([bool(g) and middle(g) > limit for g in groups])

        want = flat(statistics.median)
        mistakes = {
            "the mean decides": flat(statistics.fmean),
            "a single row decides": flat(max),
            "of two in the middle the lower is taken": flat(statistics.median_low),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.flat_cells(p, size, cell, 15, limit=limit)
        name = f"the flat cells for size {size}"
        expect_same(got, want, name=name, mistakes=mistakes)
