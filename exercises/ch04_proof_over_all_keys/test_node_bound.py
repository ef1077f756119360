"""Checks of ch04/node_bound."""

import math
from itertools import combinations

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=3,
    title="A bound for a whole branch",
    difficulty=2,
    minutes=25,
    hints=(
        "You must buy four things, one of which is fixed and two of which are sold "
        "out. What is the least that you can pay?",
        "Give every key the price <w, Gamma_j> - level p_j. Included keys are paid "
        "for in any case; how many of the free ones remain to be taken?",
        "costs = gamma @ w - level * p; sum those of the included keys, add the "
        "size - len(included) smallest of the rest; math.inf where there are too few.",
    ),
)

ROUNDING = 1e-12
"""float64 sums of some twenty terms of order 1 round to about 1e-15."""


def random_node(seed, keys, dim):
    """Deviations and weights of a row, and a unit vector."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(torch.randn(keys, generator=generator).double(), -1)
    v = torch.randn(dim, keys, generator=generator).double().T
    w = torch.randn(dim, generator=generator).double()
    return p[:, None] * (v - p @ v), p, w / w.norm()


def sets_below(keys, size, included, excluded):
    """All sets that belong to a node."""
    for A in combinations(range(keys), size):
        if set(included) <= set(A) and not set(excluded) & set(A):
            yield list(A)


def by_trying(gamma, p, w, level, size, included=(), excluded=()):
    """The least right side over all sets below the node, set by set."""
    sets = sets_below(len(p), size, included, excluded)
    return min((gamma[A].sum(0) @ w - level * p[A].sum()).item() for A in sets)


@check(points=2, likely="the smallest <w, Gamma_j> - level p_j are added up.")
def test_root(answer):
    """No key included or excluded: the bound over all sets"""
    for seed, size, level in (
        (408, 1, 0.5),
        (409, 3, 0.0),
        (410, 4, 0.2),
        (411, 8, 1.0),
    ):
        gamma, p, w = random_node(seed, keys=8, dim=3)
        want = by_trying(gamma, p, w, level, size)
        costs = gamma @ w - level * p
        mistakes = {
            "the largest are added": costs.sort().values[-size:].sum().item(),
            "the level is left out": by_trying(gamma, p, w, 0.0, size),
            "the level is added": by_trying(gamma, p, w, -level, size),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-9}
        got, name = answer.node_bound(gamma, p, w, level, size), f"the bound {seed}"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)


@check(points=2, likely="included keys count first and are not chosen a second time.")
def test_below_the_root(answer):
    """Keys included and excluded"""
    nodes = ((2, 5), (0,)), ((), (1, 3, 6)), ((7,), ()), ((0, 1, 2, 4), (5, 8))
    for seed, (included, excluded) in enumerate(nodes, start=412):
        gamma, p, w = random_node(seed, keys=9, dim=4)
        node = 4, included, excluded
        want = by_trying(gamma, p, w, 0.3, *node)
        mistakes = {
            "the excluded keys are chosen too": by_trying(
                gamma, p, w, 0.3, 4, included
            ),
            "the included keys are not forced": by_trying(
                gamma, p, w, 0.3, 4, (), excluded
            ),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-9}
        got, name = answer.node_bound(gamma, p, w, 0.3, *node), f"the bound {seed}"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)


@check(points=1, likely="a vector shorter than 1 is no unit vector, and still legal.")
def test_no_set_beats_it(answer):
    """The promise itself: no set below the node is below the bound"""
    for seed, length in ((416, 1.0), (417, 0.5), (418, 0.0)):
        gamma, p, w = random_node(seed, keys=9, dim=2)
        node = 4, (3,), (0, 8)
        sets = sets_below(9, *node)
        least = min((gamma[A].sum(0).norm() - 0.2 * p[A].sum()).item() for A in sets)
        got = answer.node_bound(gamma, p, length * w, 0.2, *node)
        want = by_trying(gamma, p, length * w, 0.2, *node)
        expect_same(got, want, tolerance=ROUNDING, name="the bound")
        expect(got <= least + ROUNDING, f"a set with {least:.6g} is below {got:.6g}")


@check(points=1, likely="a minimum over no set at all is infinite.")
def test_empty_nodes(answer):
    """Nodes without a set, and nodes with a single one"""
    gamma, p, w = random_node(419, keys=5, dim=2)
    for size, included, excluded in (
        (2, (0, 1, 2), ()),
        (3, (4,), (0, 1, 3)),
        (5, (), (2,)),
    ):
        got = answer.node_bound(gamma, p, w, 0.1, size, included, excluded)
        node = f"size {size}, included {included}, excluded {excluded}"
        expect(type(got) is float and got == math.inf, f"{got!r} for {node}; need inf")
    for node in ((2, (0, 3), ()), (3, (4,), (1, 3)), (4, (), (2,))):
        want = by_trying(gamma, p, w, 0.1, *node)
        got = answer.node_bound(gamma, p, w, 0.1, *node)
        expect_same(got, want, tolerance=ROUNDING, name=f"the bound of {node}")


@check(points=1, likely="along a vector longer than 1 the bound is wrong: refuse it.")
def test_long_vectors(answer):
    """A direction longer than 1: ValueError"""
    gamma, p, w = random_node(420, keys=5, dim=2)
    expect_raises(answer.node_bound, gamma, p, 1.001 * w, 0.1, 2, mentions="w")
    got = answer.node_bound(gamma, p, w * (1 + 1e-13), 0.1, 2)
    want = by_trying(gamma, p, w, 0.1, 2)
    expect_same(got, want, tolerance=1e-12)
