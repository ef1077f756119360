"""Top-k with ties to the smaller position, and whole numbers that add up."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from kvteach.budgets.headkv import spread_excess
from kvteach.budgets.topk import largest_remainder, pooled_top_k, top_k

LEVELS = st.sampled_from([0.0, 0.25, 1.0, float("inf"), -1.0])


@given(st.lists(LEVELS, min_size=1, max_size=12), st.data())
def test_top_k_is_a_stable_sort(values, data):
    count = data.draw(st.integers(0, len(values)))
    order = sorted(range(len(values)), key=lambda j: (-values[j], j))
    kept = top_k(torch.tensor(values), count)
    assert kept.nonzero().flatten().tolist() == sorted(order[:count])


def test_top_k_of_rows_with_counts_of_their_own(generator):
    score = torch.rand(3, 2, 9, generator=generator)
    counts = torch.tensor([[0, 1], [4, 9], [8, 2]])
    kept = top_k(score, counts)
    assert torch.equal(kept.sum(-1), counts)
    assert torch.equal(kept[1, 0], top_k(score[1, 0], 4))


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 6), st.data())
def test_pool_ties_go_by_position_then_head(layers, heads, length, data):
    size = layers * heads * length
    values = data.draw(st.lists(LEVELS, min_size=size, max_size=size))
    count = data.draw(st.integers(0, size))
    score = torch.tensor(values).view(layers, heads, length)
    places = [(i, k, j) for i in range(layers) for k in range(heads) for j in range(length)]
    order = sorted(places, key=lambda x: (-score[x].item(), x[2], x[0], x[1]))
    kept = pooled_top_k(score, count)
    assert set(map(tuple, kept.nonzero().tolist())) == set(order[:count])


@pytest.mark.parametrize("count", [-1, 5])
def test_counts_out_of_range(count):
    with pytest.raises(ValueError, match=r"count: .* legal are 0 .. 4"):
        top_k(torch.zeros(4), count)


@given(st.lists(st.floats(0, 50), min_size=1, max_size=9))
def test_largest_remainder(quotas):
    quotas = torch.tensor(quotas, dtype=torch.float64)
    quotas[0] += quotas.sum().ceil() - quotas.sum()
    total = round(quotas.sum().item())
    counts = largest_remainder(quotas, total)
    assert counts.sum() == total
    assert ((counts - quotas).abs() < 1 + 1e-6).all()


def test_largest_remainder_by_hand():
    """Fractions .5 .5 .25 .75 share two: the .75 and the earlier .5."""
    counts = largest_remainder(torch.tensor([0.5, 1.5, 2.25, 3.75]), 8)
    assert counts.tolist() == [1, 1, 2, 4]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0, 1))
@example([1.0, 5e-324], 0.625)
def test_excess_goes_to_those_who_have_room(weight, mean):
    weight = torch.tensor(weight, dtype=torch.float64)
    if weight.sum() < 1e-6:
        weight = torch.ones_like(weight)
    quotas = weight / weight.sum() * mean * 10 * len(weight)
    spread = spread_excess(quotas, 10.0, weight)
    assert spread.max() <= 10 + 1e-9
    assert abs(spread.sum() - quotas.sum()) < 1e-9 * len(weight) * 10
    assert (spread >= quotas.clamp(max=10) - 1e-9).all()
