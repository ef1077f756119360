"""Union overhead against sets in plain Python; the identity and the bounds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.rows import unions

EXACT = 1e-12
"""Ratios of small whole numbers in float64."""


def groups(number, heads, length, size, generator):
    """Random groups: every head takes its ``size`` best of shared and own noise.

    The weight of the shared part is drawn for each group, so that overlap runs from
    none to complete. [number, R, S] bool.
    """
    weight = torch.rand(number, 1, 1, generator=generator)
    shared = torch.randn(number, 1, length, generator=generator)
    own = torch.randn(number, heads, length, generator=generator)
    best = (weight * shared + (1 - weight) * own).topk(size, -1).indices
    return torch.zeros(number, heads, length, dtype=torch.bool).scatter(-1, best, True)


@st.composite
def some_groups(draw, least=1):
    """A few random groups of one shape."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    length = draw(st.integers(1, 40))
    return groups(4, draw(st.integers(least, 8)), length, draw(st.integers(1, length)),
                  generator)


@given(some_groups())
def test_overhead_is_the_union_over_a_head(kept):
    for group, overhead in zip(kept, unions.union_overhead(kept).tolist()):
        sets = [set(row.nonzero()[:, 0].tolist()) for row in group]
        assert overhead == pytest.approx(len(set.union(*sets)) / len(sets[0]), abs=EXACT)
        assert 1 <= overhead <= len(sets)


@given(some_groups())
def test_jaccard_of_every_pair(kept):
    j = unions.jaccard(kept)
    for group, matrix in zip(kept, j):
        sets = [set(row.nonzero()[:, 0].tolist()) for row in group]
        for a, row in zip(sets, matrix.tolist()):
            assert row == pytest.approx([len(a & b) / len(a | b) for b in sets], abs=EXACT)


@given(some_groups(least=2))
def test_mean_over_pairs_is_that_of_the_matrix(kept):
    heads = kept.shape[1]
    off = (unions.jaccard(kept).sum((1, 2)) - heads) / (heads * (heads - 1))
    torch.testing.assert_close(unions.mean_jaccard(kept), off, atol=EXACT, rtol=0)
    torch.testing.assert_close(unions.disagreement(kept), 1 - off, atol=EXACT, rtol=0)


def test_two_heads_identity_on_ten_thousand_groups(generator):
    """UOR = 2 / (2 - D), and D = 2/3 is 1.5."""
    kept = groups(10_000, 2, 64, 8, generator)
    expected = unions.two_head_overhead(unions.disagreement(kept))
    torch.testing.assert_close(unions.union_overhead(kept), expected, atol=EXACT, rtol=0)
    assert unions.two_head_overhead(2 / 3).item() == pytest.approx(1.5, abs=EXACT)


@pytest.mark.parametrize("heads", range(2, 9))
def test_bounds_hold_and_are_not_vacuous(heads, generator):
    for size in (2, 9, 40):
        kept = groups(1500, heads, 48, size, generator)
        overhead, pairs = unions.union_overhead(kept), unions.pairs(kept)
        lower, upper = unions.sandwich(pairs, heads)
        elementary = unions.bonferroni(pairs.mean(-1), heads)
        assert (lower <= overhead + EXACT).all() and (overhead <= upper + EXACT).all()
        assert (elementary <= overhead + EXACT).all()
    assert (unions.bonferroni(torch.tensor([0.0, 1.0]), heads)
            == torch.tensor([heads, 1])).all()


@pytest.mark.parametrize("heads", range(2, 9))
def test_where_the_bounds_are_reached(heads):
    """Both by disjoint sets, the lower one by equal sets too; the upper one not.

    It subtracts what one pair shares, so for equal sets it says R - 1.
    """
    own = torch.eye(heads, dtype=torch.bool).repeat_interleave(3, 1)
    same = own[:1].expand(heads, -1)
    for kept, least, most in ((own, heads, heads), (same, 1, heads - 1)):
        lower, upper = unions.sandwich(unions.pairs(kept), heads)
        assert lower.item() == pytest.approx(least, abs=EXACT)
        assert upper.item() == pytest.approx(most, abs=EXACT)


def test_the_lower_bound_is_reached_where_every_key_is_wanted_equally_often():
    """Cauchy-Schwarz with equal counts: each key wanted by two of three heads."""
    kept = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1]]).bool().repeat(1, 5)
    lower, _ = unions.sandwich(unions.pairs(kept), 3)
    assert lower.item() == pytest.approx(1.5, abs=EXACT)
    assert unions.union_overhead(kept).item() == 1.5


@given(st.integers(2, 12))
def test_thresholds_are_where_the_bounds_say_two(heads):
    by_sandwich, by_bonferroni = unions.certifies_two(heads)
    for j in (by_sandwich, by_sandwich + 1e-6):
        lower, _ = unions.sandwich(torch.tensor([j], dtype=torch.float64), heads)
        assert (lower.item() >= 2 - 1e-9) == (j == by_sandwich)
        assert lower.item() == pytest.approx(2, abs=1e-4)
    assert unions.bonferroni(by_bonferroni, heads).item() == pytest.approx(2, abs=1e-9)
    # With three heads, and only then, the elementary bound reaches further.
    assert (by_bonferroni > by_sandwich) == (heads == 3)


@given(some_groups(), st.integers(1, 64))
def test_pages_and_their_union(kept, page):
    for group, pages in zip(kept, unions.pages_of(kept, page)):
        for row, of_row in zip(group, pages):
            there = {j // page for j in row.nonzero()[:, 0].tolist()}
            assert set(of_row.nonzero()[:, 0].tolist()) == there
    ratio = unions.page_union_ratio(kept, page)
    held = [sum(len({j // page for j in row.nonzero()[:, 0].tolist()}) for row in group)
            for group in kept]
    union = [len({j // page for j in group.any(0).nonzero()[:, 0].tolist()}) for group in kept]
    expected = [kept.shape[1] * u / h for u, h in zip(union, held)]
    assert ratio.tolist() == pytest.approx(expected, abs=EXACT)
    assert ((1 - EXACT <= ratio) & (ratio <= kept.shape[1] + EXACT)).all()


def test_what_is_refused():
    with pytest.raises(ValueError, match="need one key or more"):
        unions.union_overhead(torch.zeros(2, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match="need a bool tensor"):
        unions.union_overhead(torch.zeros(2, 5))
    with pytest.raises(ValueError, match=r"kept_rs: shape \[5\]"):
        unions.jaccard(torch.ones(5, dtype=torch.bool))
    with pytest.raises(ValueError, match="pairs need 2"):
        unions.mean_jaccard(torch.ones(1, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match="heads: 1"):
        unions.certifies_two(1)
    with pytest.raises(ValueError, match="page: 0"):
        unions.pages_of(torch.ones(5, dtype=torch.bool), 0)
