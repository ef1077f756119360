"""Checks of ch03/published_pool."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=1,
    title="The pool of candidates",
    difficulty=1,
    minutes=15,
    hints=(
        "How many pairs can be made of five things? And of six? Which keys of a row "
        "could a good set want that are not among the heaviest?",
        "math.comb counts subsets. A key pulls by p_j ||v_j - mu||; the top-mass keys "
        "must not be taken a second time.",
        "pull = p * (v - p @ v).norm(dim=-1); pull[top] = -1 puts the top-mass keys "
        "last; argsort(descending=True, stable=True) breaks ties by index.",
    ),
)


def by_sorting(p, v, size, extras, strength=None):
    """The pool by sorting Python numbers; strength(j) ranks the extras."""
    keys = range(len(p))
    mu = sum(p[j] * v[j] for j in keys)
    strength = strength or (lambda j: (p[j] * math.dist(v[j], mu)).item())
    top = sorted(keys, key=lambda j: (-p[j].item(), j))[:size]
    others = [j for j in keys if j not in top]
    others.sort(key=lambda j: (-strength(j), j))
    return torch.tensor(top + others[:extras])


@check(points=2, likely="C(size + m, size) grows fast: count, then compare.")
def test_published_sizes(answer):
    """The published numbers of extra keys: 24, 12, 6 and 4"""
    for size, want in ((4, 24), (8, 12), (16, 6), (32, 4)):
        got = answer.pool_extras(size)
        mistakes = {
            "the first pool with too many subsets is returned": want + 1,
            "the keys of the whole pool are counted": size + want,
        }
        name = f"pool_extras({size})"
        expect_same(got, want, name=name, mistakes=mistakes)
    expect_same(answer.pool_extras(32, limit=5_000_000), 6)


@check(points=1, likely="a limit that is met exactly is not exceeded.")
def test_at_the_limit(answer):
    """Limits met exactly, a limit of one subset, and at most so many"""
    expect_same(answer.pool_extras(2, limit=10), 3)  # C(5, 2) = 10
    expect_same(answer.pool_extras(2, limit=9), 2)
    expect_same(answer.pool_extras(5, limit=1), 0)
    expect_same(answer.pool_extras(1, limit=10**6, most=7), 7)


@check(points=2, likely="the extras are ranked by p_j ||v_j - mu||, outside the top.")
def test_strongest_pull(answer):
    """A row of 40 keys: the heaviest four, then the strongest pulls"""
    generator = torch.Generator().manual_seed(301)
    p = torch.softmax(2 * torch.randn(40, generator=generator).double(), -1)
    v = 2 + torch.randn(5, 40, generator=generator).double().T  # not contiguous
    norms = v.norm(dim=-1)
    mistakes = {
        "the next weights are taken": by_sorting(p, v, 4, 7, lambda j: p[j].item()),
        "pull is p_j ||v_j||, without mu": by_sorting(
            p, v, 4, 7, lambda j: (p[j] * norms[j]).item()
        ),
        "the distance to mu is not weighted": by_sorting(
            p, v, 4, 7, lambda j: math.dist(v[j], p @ v)
        ),
    }
    got = answer.candidate_pool(p, v, 4, 7)
    expect_same(got, by_sorting(p, v, 4, 7), mistakes=mistakes)


@check(points=1, likely="of equal weights and equal pulls the smaller index is first.")
def test_ties(answer):
    """Many equal weights and equal pulls"""
    v = torch.tensor([1.0, -1.0] * 12 + [3.0, -3.0] * 12).double().reshape(48, 1)
    p = torch.tensor([1.0, 1.0, 2.0, 2.0] * 12).double() / 72  # mu = 0
    for size in (3, 20, 30):
        expect_same(answer.candidate_pool(p, v, size, 9), by_sorting(p, v, size, 9))


@check(points=1, likely="a short row has fewer extras, and each key comes once.")
def test_short_rows(answer):
    """Rows with fewer keys than the pool asks for, and no extras at all"""
    p = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    v = torch.tensor([[1.0, 2.0], [0.0, 1.0], [5.0, 1.0]], dtype=torch.float64)
    for size, extras in ((2, 24), (3, 2), (2, 0)):
        want = by_sorting(p, v, size, extras)
        expect_same(answer.candidate_pool(p, v, size, extras), want)
