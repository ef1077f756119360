"""Checks of ch04/branch_and_bound."""

import math
from itertools import combinations

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=5,
    title="The best set, proved",
    difficulty=3,
    minutes=60,
    hints=(
        "You look for the cheapest hotel, and a whole street starts at a price above "
        "one you have already found. What do you do, and what must you remember?",
        "Keep a list of open nodes. Try the set that the bound is made of: it may be "
        "better than the best one so far. A few directions w a node, as in the "
        "exercise on Frank-Wolfe, make the difference.",
        "Start with the top-mass set. For each node: bound >= 0 at level = best error "
        "closes it; if not, branch on a free key of the bound's set, and push the "
        "node that excludes it before the one that includes it.",
    ),
)

EXACT = 1e-9
"""Relative: best up to a billionth, as the exercise says; float64 keeps 1e-12."""
PARTS = "indices", "error", "nodes"


def random_row(seed, keys, dim, sharpness=1.0):
    """A row whose values are not contiguous."""
    generator = torch.Generator().manual_seed(seed)
    scores = sharpness * torch.randn(keys, generator=generator).double()
    return torch.softmax(scores, -1), torch.randn(
        dim, keys, generator=generator
    ).double().T


def least_error(p, v, size):
    """The least error over all sets, all at once, from the outputs themselves."""
    sets = torch.tensor(list(combinations(range(len(p)), size)))
    kept = (
        torch.zeros(len(sets), len(p), dtype=torch.float64).scatter_(1, sets, 1.0) * p
    )
    outputs = (kept @ v) / kept.sum(1, keepdim=True)
    return (p @ v - outputs).norm(dim=-1).min().item()


def expect_best(got, p, v, size, name):
    """Fail unless ``got`` is a best set with its error; return the nodes."""
    kinds = type(got) is tuple and [type(x) for x in got] == [tuple, float, int]
    expect(kinds, f"{name} must be a tuple of a tuple, a float and an int, not {got!r}")
    indices, error, nodes = got
    legal = all(type(j) is int and 0 <= j < len(p) for j in indices)
    legal = legal and list(indices) == sorted(set(indices)) and len(indices) == size
    expect(legal, f"the indices {indices} of {name} are no set of {size} keys in order")
    want = least_error(p, v, size)
    chosen = list(indices)
    own = (p @ v - p[chosen] @ v[chosen] / p[chosen].sum()).norm().item()
    off = EXACT * want + 1e-13  # mu itself is known to about 1e-15
    expect(
        own <= want + off,
        f"{name}: the set {indices} has error {own:.9g}; the least is {want:.9g}",
    )
    expect_same(error, own, tolerance=1e-12, name=f"the error of {name}")
    return nodes


@check(points=2, likely="a branch is lost, or closed although it holds a better set.")
def test_small_rows(answer):
    """Rows of eight keys, every size"""
    for seed, dim, sharpness in ((429, 3, 1.0), (430, 1, 2.0), (431, 8, 1.5)):
        p, v = random_row(seed, 8, dim, sharpness)
        for size in range(1, 9):
            name = f"the result of row {seed}, size {size}"
            expect_best(answer.branch_and_bound(p, v, size), p, v, size, name)


@check(points=3, likely="the bounds are too weak to close nodes, or are not used.")
def test_few_nodes(answer):
    """Rows of 20 keys: the best of 77,520 sets in few nodes"""
    for seed, dim in ((351, 12), (352, 24), (353, 24)):
        p, v = random_row(seed, 20, dim)
        name = f"the result of row {seed}"
        nodes = expect_best(answer.branch_and_bound(p, v, 7), p, v, 7, name)
        limit = math.comb(20, 7) // 10
        expect(0 < nodes < limit, f"{name}: {nodes} nodes; need fewer than {limit}")


@check(points=1, likely="a node is counted for each bound, the root's included.")
def test_open_at_the_root(answer):
    """No bound at the root can prove a row with an error: more than one node"""
    # Over all keys the deviations sum to 0, and so does the equal mixture of all
    # sets: along any w some set is no better than it, and bounds are below 0.
    for seed, dim in ((432, 1), (433, 6)):
        p, v = random_row(seed, 9, dim)
        name = f"the result of row {seed}"
        nodes = expect_best(answer.branch_and_bound(p, v, 3), p, v, 3, name)
        expect(nodes > 1, f"{name}: {nodes} node cannot prove it")


@check(points=1, likely="equal keys, or a level of 0, keep the search going for ever.")
def test_ties(answer):
    """Equal weights, equal values, and sets without error"""
    p = torch.full((10,), 0.1, dtype=torch.float64)
    v = torch.tensor([[1.0], [-1.0]], dtype=torch.float64).repeat(5, 3)
    for size in (2, 3, 5):
        name = f"the result of equal keys, size {size}"
        expect_best(answer.branch_and_bound(p, v, size), p, v, size, name)
    p, v = random_row(434, 9, 2)
    v[8] = p[:8] @ v[:8] / p[:8].sum()  # the last key is the mean of the others
    for size in (1, 4):
        name = f"the result with a key at the mean, size {size}"
        expect_best(answer.branch_and_bound(p, v, size), p, v, size, name)
