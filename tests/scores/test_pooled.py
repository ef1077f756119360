"""Pooling by concentration: oracles, limits, and the rule against float64 brute force."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_layers import SHAPES, attention, close, random_layer

from kvteach.scores import pooled as rule
from kvteach.scores.pooled import Pooled

ORDERS = [0, 0.5, 1, 2, 3, 999, math.inf]


def random_rows(generator, shape, sharpness=3.0):
    """Rows that sum to 1, float64."""
    noise = torch.randn(*shape, generator=generator, dtype=torch.float64)
    return (sharpness * noise).softmax(-1)


# --- entropies ----------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_a_uniform_row_has_the_logarithm_of_its_keys(order):
    for keys in (1, 7, 5000):
        row = torch.full((keys,), 1 / keys, dtype=torch.float64)
        # order 999: 999 times a rounding of 1e-16 in the logarithm, over 998
        assert rule.renyi(row, order).item() == pytest.approx(math.log(keys), abs=1e-12)


@given(st.integers(0, 2**31), st.sampled_from([2, 9, 60]))
def test_orders_against_the_definition(seed, keys):
    g = torch.Generator().manual_seed(seed)
    rows = random_rows(g, (3, keys))
    found = torch.stack([rule.renyi(rows, order) for order in ORDERS])
    for row, of_row in zip(rows.tolist(), found.T.tolist()):
        expected = [math.log(keys), 2 * math.log(sum(p**0.5 for p in row)),
                    -sum(p * math.log(p) for p in row), -math.log(sum(p * p for p in row)),
                    -0.5 * math.log(sum(p**3 for p in row))]
        assert of_row[:5] == pytest.approx(expected, abs=1e-9)
        assert of_row[6] == pytest.approx(-math.log(max(row)), abs=1e-12)
    assert (found[:-1] >= found[1:] - 1e-9).all()  # never rises with the order
    assert (found >= -1e-12).all() and (found <= math.log(keys) + 1e-9).all()


def test_orders_join_at_one_and_at_infinity(generator):
    rows = random_rows(generator, (4, 30))
    # the slope of H in the order is below (ln 30)^2 / 2 = 6
    torch.testing.assert_close(
        rule.renyi(rows, 1 + 1e-6), rule.renyi(rows, 1), atol=1e-5, rtol=0)
    # H_n lies within H_inf n / (n - 1), and below it by no more
    torch.testing.assert_close(
        rule.renyi(rows, 1e6), rule.renyi(rows, math.inf), atol=1e-4, rtol=0)


def test_a_high_order_does_not_underflow():
    row = torch.tensor([0.4, 0.3, 0.3]) ** torch.ones(3)  # .4^999 is 0 in float64
    assert rule.renyi(row, 999).item() == pytest.approx(-math.log(0.4) * 999 / 998, abs=1e-6)


# --- sinks --------------------------------------------------------------------------


def test_sink_heads():
    """The published oracles: ln N with the sinks out, about 1.6 with them; 27.63."""
    keys = 1000
    row = torch.zeros(keys + 4, dtype=torch.float64)
    row[0], row[4:] = 0.45, 0.55 / keys
    assert rule.renyi(rule.isolated(row)).item() == pytest.approx(math.log(keys), abs=1e-12)
    assert rule.renyi(row).item() == pytest.approx(1.6, abs=0.01)
    nothing = torch.zeros(keys)
    nothing[:4] = 0.25
    for order in ORDERS:
        assert rule.renyi(rule.isolated(nothing), order).item() == pytest.approx(27.63, abs=5e-3)
    assert rule.isolated(nothing).sum() == 0


@pytest.mark.parametrize("tau", [0.1, 0.5, 2.0])
def test_power_form(generator, tau):
    """w_h goes with (||A_h||^2)^(1 / tau)."""
    rows = random_rows(generator, (5, 6, 40))
    power = rows.square().sum(-1) ** (1 / tau)
    torch.testing.assert_close(
        rule.vote(rule.renyi(rows), tau), power / power.sum(-1, keepdim=True),
        atol=1e-12, rtol=1e-9)


# --- pooling ------------------------------------------------------------------------


def test_limits_of_the_temperature(generator):
    rows = random_rows(generator, (4, 6, 30)).float()
    mean = rows.mean(-2)
    torch.testing.assert_close(rule.pooled(rows, tau=math.inf), mean, atol=1e-7, rtol=0)
    # entropies differ by less than ln 26, so weights are within 3.3 / tau of 1/R
    torch.testing.assert_close(rule.pooled(rows, tau=1e6), mean, atol=1e-5, rtol=0)
    sharpest = rule.renyi(rule.isolated(rows)).argmin(-1)
    chosen = rows[torch.arange(4), sharpest]
    torch.testing.assert_close(rule.pooled(rows, tau=0), chosen, atol=0, rtol=0)
    torch.testing.assert_close(rule.pooled(rows, tau=1e-4), chosen, atol=1e-6, rtol=0)


def test_colder_is_more_of_one_head(generator):
    entropy = torch.rand(20, 6, generator=generator) * 5
    tops = [rule.vote(entropy, tau).amax(-1) for tau in (50, 5, 1, 0.5, 0.1, 0)]
    for hot, cold in zip(tops, tops[1:]):
        assert (hot <= cold + 1e-12).all()
    assert ((rule.vote(entropy, 50).sum(-1) - 1).abs() < 1e-12).all()
    least, more = rule.vote(torch.tensor([1.0, 1.0, 2.0]), 0).tolist()[:2]
    assert (least, more) == (0.5, 0.5)


def test_equal_entropies_fall_back_to_the_largest_head():
    """Three shifted copies of one row: entropy says nothing, the maximum keeps peaks."""
    row = torch.full((24,), 0.5 / 23)
    row[6] = 0.5
    rows = torch.stack([row, row.roll(3), row.roll(9)])
    assert torch.equal(rule.pooled(rows), rows.amax(0))
    other = rows.clone()
    other[0] = 1 / 24
    assert not torch.equal(rule.pooled(other), other.amax(0))


@given(st.integers(0, 2**31), st.sampled_from([1, 2, 3, 8]), st.sampled_from([0.1, 0.5, 5]))
def test_a_pooled_row_is_a_row_between_its_heads(seed, heads, tau):
    g = torch.Generator().manual_seed(seed)
    rows = random_rows(g, (heads, 20)).float()
    found = rule.pooled(rows, tau)
    assert found.sum().item() == pytest.approx(1, abs=1e-5)  # 20 float32 numbers
    assert (found <= rows.amax(0) * (1 + 1e-6)).all()
    assert (found >= rows.amin(0) * (1 - 1e-6)).all()


def test_masquerade(generator):
    """A sink head outweighs a context head until the sinks are taken out."""
    length = 400
    sink = torch.full((length,), 0.1 / length)
    sink[0] += 0.9
    context = torch.full((length,), 0.5 / length)
    context[200:230] += 0.5 / 30
    rows = torch.stack([context, sink, torch.full((length,), 1 / length)])
    raw, clean, gain = rule.masquerade(rows)
    collision = [r.double().square().sum() for r in (sink, rows[0])]
    isolated = [(r[4:].double() / r[4:].double().sum()).square().sum() for r in (sink, rows[0])]
    expected = (collision[0] / collision[1]) ** 2, (isolated[0] / isolated[1]) ** 2
    assert raw.item() == pytest.approx(expected[0].item(), rel=1e-5)
    assert clean.item() == pytest.approx(expected[1].item(), rel=1e-5)
    assert gain == raw / clean and raw > 1 > clean
    assert rule.masquerade(random_rows(generator, (5, 3, 40))).gain.shape == (5,)


# --- the rule -----------------------------------------------------------------------


def brute_force(layer, parameters):
    """Group by group and head by head in float64."""
    weights = attention(layer)
    first = layer.length - weights.shape[1]
    stop = layer.last_row - first
    weights = weights[:, max(stop - parameters.rows, 0) : stop]
    mass = weights.mean(1)
    out = []
    for k in range(layer.keys_ksd.shape[0]):
        group = mass[k * layer.group_size : (k + 1) * layer.group_size]
        powers = []
        for row in group:
            rest = row[parameters.sinks :]
            powers.append(((rest / rest.sum()) ** 2).sum() ** (1 / parameters.tau))
        w = torch.stack(powers) / sum(powers)
        out.append((w[:, None] * group).sum(0) if len(group) > 1 else group[0])
    return torch.stack(out)


@pytest.mark.parametrize("heads, kv_heads", [*SHAPES, (12, 2), (8, 1)])
@pytest.mark.parametrize("parameters", [Pooled(), Pooled(rows=9, tau=0.2), Pooled(sinks=0)])
def test_the_rule_is_the_definition(generator, heads, kv_heads, parameters):
    layer = random_layer(generator, heads, kv_heads, softcap=20.0).layer
    close(parameters(layer), brute_force(layer, parameters))


def test_rows_that_may_rank(generator):
    layer = random_layer(generator, ranking=30, rows=25).layer  # 15 recorded rows rank
    close(Pooled(rows=8)(layer), brute_force(layer, Pooled(rows=8)))
    close(Pooled()(layer), brute_force(layer, Pooled(rows=15)))
    with pytest.raises(ValueError, match="0 rows can rank"):
        Pooled()(replace(layer, ranking=15))


def test_mean_and_maximum_to_compare_with(generator):
    layer = random_layer(generator, 6, 2).layer
    mass = attention(layer).mean(1).view(2, 3, -1)
    close(Pooled(pool="mean")(layer), mass.mean(1))
    close(Pooled(pool="max")(layer), mass.amax(1))
    close(Pooled(tau=math.inf)(layer), mass.mean(1))


def test_one_head_a_group_is_its_own_row(generator):
    layer = random_layer(generator, 4, 4).layer
    close(Pooled()(layer), attention(layer).mean(1))


def test_promises_to_the_engine(generator):
    layer = random_layer(generator).layer
    before = [t.clone() for t in (layer.queries_htd, layer.keys_ksd, layer.values_ksd)]
    score = Pooled()(layer)
    assert score.dtype == torch.float32 and score.shape == (2, 40)
    after = (layer.queries_htd, layer.keys_ksd, layer.values_ksd)
    assert all(torch.equal(a, b) for a, b in zip(before, after))
    half = random_layer(generator, dtype=torch.bfloat16, size=2e4, rotary=0).layer
    assert torch.isfinite(Pooled()(half)).all()
    layer.queries_htd.zero_()  # all heads of a group alike: the fallback, and no NaN
    assert torch.isfinite(Pooled()(layer)).all()


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"sinks": -1}, {"tau": -0.1}, {"order": -1},
                                   {"tau": math.nan}, {"pool": "median"}], ids=str)
def test_what_is_refused(wrong):
    with pytest.raises(ValueError, match=f"{list(wrong)[0]}: "):
        Pooled(**wrong)
