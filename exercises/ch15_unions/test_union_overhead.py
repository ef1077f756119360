"""Checks of ch15/union_overhead."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="What a group holds",
    difficulty=1,
    minutes=15,
    hints=(
        "One head keeps s keys. How often may a key be counted that three heads keep?",
        "kept.any(0) marks the union. For the distance go through the pairs a < b and "
        "count with & and |.",
        "For the second part: both + either = 2 s, and both = (1 - distance) either. "
        "Solve for both / s.",
    ),
)

PARTS = "overhead", "distance"
ROUNDING = 1e-12
"""Quotients of whole numbers below 100."""


def mask(*rows):
    """Sets of keys as rows of a mask over 12 keys."""
    kept = torch.zeros(len(rows), 12, dtype=torch.bool)
    for row, keys in zip(kept, rows):
        row[list(keys)] = True
    return kept


def by_sets(kept):
    """Overhead, and the distances of all ordered pairs, with Python's sets."""
    sets = [set(row.nonzero()[:, 0].tolist()) for row in kept]
    pairs = {
        (a, b): 1 - len(sets[a] & sets[b]) / len(sets[a] | sets[b])
        for a in range(len(sets))
        for b in range(len(sets))
    }
    return len(set.union(*sets)) / len(sets[0]), pairs


def want_of(kept):
    overhead, pairs = by_sets(kept)
    once = [d for (a, b), d in pairs.items() if a < b]
    return overhead, sum(once) / len(once)


@check(points=2, likely="a key that several heads keep is on the shelf once.")
def test_two_and_three_heads(answer):
    """Groups of two and three heads, by hand"""
    for kept in (
        mask({0, 1, 2, 3}, {2, 3, 4, 5}),
        mask({0, 1, 2}, {2, 3, 4}, {2, 5, 6}),
        mask({0, 1}, {4, 5}, {8, 9}),
        mask({3, 7}, {3, 7}, {3, 7}),
    ):
        want = want_of(kept)
        overhead, pairs = by_sets(kept)
        mistakes = {
            "a key counts once for each head": (float(len(kept)), want[1]),
            "the overhead is over all keys": (overhead * kept[0].sum().item() / 12, want[1]),
            "the index of overlap is called a distance": (overhead, 1 - want[1]),
            "each head is paired with itself": (overhead, sum(pairs.values()) / len(pairs)),
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.union_overhead(kept)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=2, likely="all pairs count alike, and what all heads share is no pair.")
def test_random_groups(answer):
    """Groups of 2 to 8 heads"""
    generator = torch.Generator().manual_seed(1501)
    for heads, size in ((2, 3), (3, 10), (5, 7), (8, 20)):
        best = torch.rand(heads, 50, generator=generator).topk(size).indices
        kept = torch.zeros(heads, 50, dtype=torch.bool).scatter(1, best, True)
        before = kept.clone()
        got = answer.union_overhead(kept)
        name = f"the result for {heads} heads of {size} keys"
        expect_same(got, want_of(kept), tolerance=ROUNDING, name=name, parts=PARTS)
        expect_same(kept, before, name="your argument after the call")


@check(points=2, likely="the distance is over the union, the share over one head's keys.")
def test_common(answer):
    """From the distance to what two heads have in common, and back"""
    for common, size in ((0, 5), (10, 20), (3, 4), (7, 7), (1, 100)):
        distance = 1 - common / (2 * size - common)
        mistakes = {
            "1 - distance is taken for the share": 1 - distance,
            "the overhead is returned": 2 / (2 - distance),
            "the share is over both heads' keys": common / (2 * size),
        }
        want = common / size
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        got = answer.common_share(distance)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    for wrong in (-0.1, 1.5, float("nan")):
        expect_raises(answer.common_share, wrong, mentions="distance")
