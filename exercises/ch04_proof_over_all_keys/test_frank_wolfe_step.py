"""Checks of ch04/frank_wolfe_step."""

import math
from itertools import combinations

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=4,
    title="A better direction",
    difficulty=3,
    minutes=40,
    hints=(
        "You walk on a straight line past a tree, and each metre also costs a fixed "
        "fee. Where are you cheapest, if the price is your distance to the tree?",
        "f is convex: it is lowest where its derivative is 0, or at an end. With u = b "
        "+ c t the derivative is 0 where u sqrt(c) = slope sqrt(u^2 + a c - b^2).",
        "u = slope * sqrt((a c - b^2) / (c - slope^2)), t = (u - b) / c cut to 0 .. 1; "
        "where slope^2 >= c, t is 1 if slope > 0 and 0 if not.",
    ),
)

ROUNDING = 1e-12
"""float64 sums of some twenty terms of order 1 round to about 1e-15."""
PARTS = "indices", "bound"
STEP_PARTS = "bound", "y", "mass"


def random_row(seed, keys, dim):
    """Deviations and weights of a row."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(torch.randn(keys, generator=generator).double(), -1)
    v = torch.randn(dim, keys, generator=generator).double().T
    return p[:, None] * (v - p @ v), p


def height(t, y, mass, target, target_mass, level):
    """f(t) by its definition."""
    x = [a + t * (b - a) for a, b in zip(y.tolist(), target.tolist())]
    return math.hypot(*x) - level * (mass + t * (target_mass - mass))


def lowest_height(*line):
    """The least f(t) by a ternary search: f is convex."""
    low, high = 0.0, 1.0
    for _ in range(200):
        one, other = (2 * low + high) / 3, (low + 2 * high) / 3
        if height(one, *line) < height(other, *line):
            high = other
        else:
            low = one
    return min(height(t, *line) for t in (0.0, low, 1.0))


def expect_lowest(t, *line, name):
    """Fail unless t is a float in 0 .. 1 at which f is lowest."""
    expect_same(t, min(1.0, max(0.0, t)) if type(t) is float else 0.5, name=name)
    got, want = height(t, *line), lowest_height(*line)
    expect(
        got <= want + ROUNDING * max(1.0, abs(want)),
        f"{name} is {t:.6g}, where f is {got:.9g}; the lowest f is {want:.9g}",
    )


def expect_kinds(got, dim):
    """Fail unless a step is a float, [dim] float64 and a float, of any values."""
    kinds = 0.0, torch.zeros(dim, dtype=torch.float64), 0.0
    expect_same(got, kinds, tolerance=math.inf, name="the step", parts=STEP_PARTS)


@check(points=1, likely="the set of the smallest <w, Gamma_j> - level p_j, by index.")
def test_oracle(answer):
    """The set that a bound is made of"""
    for seed, size, level in ((421, 1, 0.5), (422, 3, 0.0), (423, 6, 0.2)):
        gamma, p = random_row(seed, keys=8, dim=3)
        w = gamma.sum(1)[:3] / gamma.sum(1)[:3].norm()
        sums = [
            (sum((gamma[j] @ w - level * p[j]).item() for j in A), A)
            for A in combinations(range(8), size)
        ]
        bound, best = min(sums)
        got = answer.oracle(gamma, p, w, level, size)
        expect_same(got, (best, bound), tolerance=ROUNDING, parts=PARTS)
    gamma, p = torch.zeros(6, 2).double(), torch.full((6,), 1 / 8).double()
    p[4] = 3 / 8
    w = torch.zeros(2, dtype=torch.float64)
    want = (0, 1, 4), -0.625
    got = answer.oracle(gamma, p, w, 1.0, 3)
    expect_same(got, want, tolerance=ROUNDING, parts=PARTS, name="the set of equals")


@check(points=2, likely="f is a length minus a straight line, not a squared length.")
def test_step_length(answer):
    """The lowest point of ways of all kinds"""
    generator = torch.Generator().manual_seed(424)
    for level in (0.0, 0.4, 0.9, 2.0):
        for number in range(12):
            y, target = torch.randn(2, 3, generator=generator).double()
            mass, target_mass = torch.rand(2, generator=generator).tolist()
            line = y, mass, target, target_mass, level
            t = answer.step_length(*line)
            expect_lowest(t, *line, name=f"the step of way {number}, level {level}")


@check(points=1, likely="no way to go, or a derivative that is never 0.")
def test_special_ways(answer):
    """No way to go, ways through 0, ways that fall or rise to the end"""
    here, there = torch.tensor([[3.0, 4.0], [0.0, 1.0]], dtype=torch.float64)
    lines = [
        (here, 0.5, here, 0.5, 0.3),  # stay
        (here, 0.5, here, 0.8, 0.3),  # more mass at the same place
        (here, 0.8, here, 0.5, 0.3),  # less mass at the same place
        (here, 0.5, -here, 0.5, 0.3),  # straight through 0
        (here, 0.2, 2 * here, 0.9, 9.0),  # away, for mass that is worth it
        (here, 0.2, 2 * here, 0.9, 1.0),  # and for mass that is not
        (0 * here, 0.4, there, 0.5, 0.0),  # from 0
        (there, 0.4, there + here, 0.4 + 5.0, 1.0),  # slope as steep as the way
        (here, 0.9, there, 0.3, 10.0),  # nearer to 0, but the mass is worth more
    ]
    for number, line in enumerate(lines):
        t = answer.step_length(*line)
        expect_lowest(t, *line, name=f"the step of way {number}")


@check(points=2, likely="the bound is that before the step, y and mass those after it.")
def test_one_step(answer):
    """One step from the top-mass set, and one from y = 0"""
    for seed, level in ((425, 0.3), (426, 0.0), (427, 0.8), (428, 0.3)):
        gamma, p = random_row(seed, keys=10, dim=4)
        top = p.argsort(descending=True)[:3]
        y, mass = gamma[top].sum(0), p[top].sum().item()
        w = y / y.norm()
        if seed == 428:  # the equal mixture of all sets: y = 0, and so is w
            y, w, mass = 0 * y, 0 * y, 0.3
        sets = [list(A) for A in combinations(range(10), 3)]
        bounds = [(gamma[A].sum(0) @ w - level * p[A].sum()).item() for A in sets]
        bound = min(bounds)
        A = sets[bounds.index(bound)]
        line = y, mass, gamma[A].sum(0), p[A].sum().item(), level
        got = answer.frank_wolfe_step(gamma, p, level, 3, y, mass)
        expect_kinds(got, 4)
        expect_same(got[0], bound, tolerance=ROUNDING, name="the bound")
        new = got[1].norm().item() - level * got[2]
        want = lowest_height(*line)
        expect(
            new <= want + ROUNDING,
            f"||y|| - level mass is {new:.9g} after the step; need {want:.9g}",
        )


@check(points=1, likely="the point and its mass must move together.")
def test_bounds_meet(answer):
    """Thirty steps: the best bound rises towards ||y|| - level mass"""
    gamma, p = random_row(428, keys=40, dim=8)
    # A pool on one side of the output: over all keys the deviations sum to 0, so
    # the mixture of all sets is y = 0, and no direction bounds them well.
    pool = gamma[:, 0].argsort(descending=True)[:12]
    gamma, p = 8 * gamma[pool], 8 * p[pool]
    sets = [list(A) for A in combinations(range(12), 3)]
    for level in (0.1, 0.5):
        least = min((gamma[A].sum(0).norm() - level * p[A].sum()).item() for A in sets)
        top = p.argsort(descending=True)[:3]
        y, mass, best = gamma[top].sum(0), p[top].sum().item(), -math.inf
        for _ in range(31):
            got = answer.frank_wolfe_step(gamma, p, level, 3, y, mass)
            expect_kinds(got, 8)
            bound, y, mass = got
            best = max(best, bound)
            expect(
                bound <= least + ROUNDING,
                f"bound {bound:.6g}, but a set has {least:.6g}",
            )
        gap = y.norm().item() - level * mass - best
        # It starts at 1.3, and exact steps leave about .03; steps of a fixed
        # length leave more than .1.
        expect(-ROUNDING < gap < 0.1, f"a gap of {gap:.3g} is left after 31 steps")
