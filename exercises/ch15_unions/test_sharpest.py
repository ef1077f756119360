"""Checks of ch15/sharpest."""

import itertools

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=5,
    title="The sharpest bounds from pairs",
    difficulty=3,
    minutes=45,
    hints=(
        "How does a single key enter A and B, if n heads want it? Count keys, not pairs "
        "of heads. For the tree: which pairs would you join first?",
        "A is the sum of n over keys, B the sum of n (n - 1) / 2. The tree is a spanning "
        "tree of the heads of largest weight; a star or a chain may be worse.",
        "m = 1 + 2 * B // A in whole numbers. Prim's algorithm: keep, for every head "
        "outside the tree, the most that it shares with any head inside; add the largest.",
    ),
)

ROUNDING = 1e-12
"""Quotients of whole numbers below 1000."""


def mask(*rows, keys=14):
    """Sets of keys as rows of a mask."""
    kept = torch.zeros(len(rows), keys, dtype=torch.bool)
    for row, some in zip(kept, rows):
        row[list(some)] = True
    return kept


def as_sets(kept):
    return [set(row.nonzero()[:, 0].tolist()) for row in kept]


def groups(seed):
    """Random groups of 2 to 6 heads, from strangers to near agreement."""
    generator = torch.Generator().manual_seed(seed)
    for heads, weight in itertools.product((2, 3, 4, 6), (0.0, 1.0, 2.5)):
        shared = torch.randn(1, 24, generator=generator)
        own = torch.randn(heads, 24, generator=generator)
        best = (weight * shared + own).topk(6).indices
        yield torch.zeros(heads, 24, dtype=torch.bool).scatter(1, best, True)


GROUPS = (
    mask({0, 1, 2}, {0, 1, 2}, {0, 1, 2}),
    mask({0, 1, 2}, {3, 4, 5}, {6, 7, 8}),
    mask({0, 1}, {1, 2}, {2, 0}),
    mask({0, 1, 2, 3}, {2, 3, 4, 5}, {4, 5, 6, 7}, {6, 7, 8, 9}),  # a chain
    mask({0, 1, 2, 3}, {0, 4, 5, 6}, {1, 7, 8, 9}, {2, 10, 11, 12}),  # a star
)


def least(kept):
    """The largest of all bounds of this form, m = 1 .. R; exact in whole numbers."""
    sets = as_sets(kept)
    size, wishes = len(sets[0]), sum(map(len, sets))
    pairs = sum(len(a & b) for a, b in itertools.combinations(sets, 2))
    every = [2 * wishes / (m + 1) - 2 * pairs / (m * (m + 1)) for m in range(1, len(sets) + 1)]
    squares = wishes**2 / (wishes + 2 * pairs)
    return max(every) / size, every[0] / size, squares / size


@check(points=4, likely="m is a whole number, and pairs are counted once.")
def test_least(answer):
    """The lower bound is the best of its kind"""
    for kept in (*GROUPS, *groups(1541)):
        want, first, squares = least(kept)
        mistakes = {
            "m is always 1": first,
            "the bound is that of squares": squares,
            "the bound is not divided by one head's keys": want * kept[0].sum().item(),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        before = kept.clone()
        got = answer.least_union(kept)
        name = f"the bound for {[sorted(s) for s in as_sets(kept)][:3]}"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)
        expect_same(kept, before, name="your argument after the call")
        overhead = kept.any(0).sum().item() / kept[0].sum().item()
        expect(got <= overhead + ROUNDING, f"{got:.4f} is above the overhead {overhead:.4f}")
        expect(got >= squares - ROUNDING, f"{got:.4f} is below the bound of squares")


def most(kept):
    """The least bound over all spanning trees, by trying them all."""
    sets = as_sets(kept)
    heads, size = len(sets), len(sets[0])
    pairs = list(itertools.combinations(range(heads), 2))
    weight = {p: len(sets[p[0]] & sets[p[1]]) for p in pairs}
    best = 0
    for edges in itertools.combinations(pairs, heads - 1):
        reached = {0}
        for _ in range(heads):
            reached |= {x for edge in edges if reached & set(edge) for x in edge}
        if len(reached) == heads:
            best = max(best, sum(weight[e] for e in edges))
    chain = sum(weight[a, a + 1] for a in range(heads - 1))
    star = sum(weight[0, b] for b in range(1, heads))
    greedy = sum(sorted(weight.values())[-(heads - 1) :])
    one = max(weight.values())
    return tuple(heads - x / size for x in (best, chain, star, greedy, one))


@check(points=4, likely="the R - 1 pairs must connect all heads, without a circle.")
def test_most(answer):
    """The upper bound is that of the best tree"""
    for kept in (*GROUPS, *groups(1542)):
        want, chain, star, greedy, one = most(kept)
        mistakes = {
            "the heads are joined in their order": chain,
            "every head is joined to the first": star,
            "the best pairs are taken though they make a circle": greedy,
            "only the best pair is taken": one,
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        before = kept.clone()
        got = answer.most_union(kept)
        name = f"the bound for {[sorted(s) for s in as_sets(kept)][:3]}"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)
        expect_same(kept, before, name="your argument after the call")


@check(points=2, likely="at the ends both bounds are the overhead itself.")
def test_ends(answer):
    """Equal sets and disjoint sets: both bounds are exact"""
    for heads in (2, 3, 5, 7):
        own = torch.eye(heads, dtype=torch.bool).repeat_interleave(2, 1)
        for kept, want in ((own, float(heads)), (own[:1].expand(heads, -1).clone(), 1.0)):
            what = "disjoint" if want > 1 else "equal"
            for bound in ("least_union", "most_union"):
                got = getattr(answer, bound)(kept.clone())
                name = f"{bound} of {heads} {what} sets"
                expect_same(got, want, tolerance=ROUNDING, name=name)
