"""H2O: accumulated mass, its per-row form, and the half for recency."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_layers import SHAPES, attention, close, group_mean, random_layer

from kvteach.scores.h2o import H2O, entry_budgets


@pytest.mark.parametrize("heads, kv_heads", SHAPES)
@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("ranking", [None, 31])
def test_mass(generator, heads, kv_heads, per_row, ranking):
    layer = random_layer(generator, heads, kv_heads, ranking=ranking).layer
    rows_hts = attention(layer)[:, : layer.last_row]
    expected_hs = rows_hts.sum(1)
    if per_row:
        could_see_s = torch.tensor([max(len(rows_hts[0]) - j, 1) for j in range(40)])
        expected_hs = expected_hs / could_see_s
    expected_ks = group_mean(expected_hs, layer)
    expected_ks[:, 35:] = torch.inf
    close(H2O(recent=5, per_row=per_row)(layer), expected_ks)


def test_mass_of_some_rows(generator):
    layer = random_layer(generator, rows=13).layer
    rows_hts = attention(layer)
    could_see_s = torch.tensor([13] * 27 + list(range(13, 0, -1)))
    expected_ks = group_mean(rows_hts.sum(1) / could_see_s, layer)
    close(H2O(recent=0, per_row=True)(layer), expected_ks)


def kept_written_out(mass_s, budget):
    """n // 2 latest keys and the n - n // 2 heaviest others, ties to the earlier."""
    length = len(mass_s)
    recent = set(range(length - budget // 2, length))
    others = sorted(set(range(length)) - recent, key=lambda j: (-mass_s[j], j))
    return recent | set(others[: budget - budget // 2])


# Few distinct values, so that ties are common.
@given(st.lists(st.integers(0, 6), min_size=1, max_size=25))
def test_entry_budgets_give_every_budget_its_set(masses):
    entered = entry_budgets(torch.tensor(masses, dtype=torch.float32))
    for budget in range(len(masses) + 1):
        kept = {key for key, at in enumerate(entered.tolist()) if at <= budget}
        assert kept == kept_written_out(masses, budget)


def test_half_recent_is_the_default(generator):
    layer = random_layer(generator).layer
    score_ks = H2O()(layer)
    mass_ks = H2O(recent=0)(layer)
    assert score_ks.dtype == torch.float32
    for score_s, mass_s in zip(score_ks, mass_ks.tolist()):
        assert set(score_s.topk(17).indices.tolist()) == kept_written_out(mass_s, 17)


def test_a_negative_share_is_an_error():
    with pytest.raises(ValueError, match="recent: -1"):
        H2O(recent=-1)
