"""Division by dispersion: curves by brute force, optimal counts by dynamic programming."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.budgets import multiplier
from kvteach.budgets.dispersion import Dispersion, as_table, cost_curve
from kvteach.scores import observe
from kvteach.scores.snapkv import SnapKV

INF = math.inf


def brute_cost(score_s, values_sd, b):
    """c(b) from its definition, in plain Python over the ranked keys."""
    ranked = sorted(range(len(score_s)), key=lambda j: (-score_s[j], j))
    finite = [j for j in ranked if score_s[j] < INF]
    tail = finite[b:]
    total = math.fsum(score_s[j] for j in finite)
    pi = {j: score_s[j] / total if total else 1 / len(finite) for j in tail}
    mass = math.fsum(pi.values())
    if not mass:
        return 0.0
    dim = len(values_sd[0])
    mean = [math.fsum(pi[j] * values_sd[j][i] for j in tail) / mass for i in range(dim)]
    spread = math.fsum(
        pi[j] / mass * sum((values_sd[j][i] - mean[i]) ** 2 for i in range(dim))
        for j in tail
    )
    return mass * math.sqrt(spread)


def best_sum(cost_hb, total):
    """The least sum of costs by dynamic programming over heads, O(H B^2)."""
    least = {0: 0.0}
    for cost_b in cost_hb:
        merged = {}
        for spent, cost in least.items():
            for b, more in enumerate(cost_b):
                if math.isfinite(more) and spent + b <= total:
                    known = merged.get(spent + b, INF)
                    merged[spent + b] = min(known, cost + more)
        least = merged
    return least[total]


def falling_curves(seed, heads, length, kind):
    """Tables of costs that fall: convex, of dispersion, or any."""
    rng = np.random.default_rng(seed)
    curves = []
    for _ in range(heads):
        n = int(rng.integers(1, length + 1))
        if kind == "dispersion":
            score = torch.from_numpy(rng.random(n) ** rng.integers(1, 12))
            values = torch.from_numpy(rng.standard_normal((n, 2)) * rng.gamma(0.5, size=(n, 1)))
            curves.append(cost_curve(score, values))
            continue
        drops = rng.exponential(size=n) ** 2 * (rng.random(n) < 0.7)
        drops = np.sort(drops)[::-1] if kind == "convex" else drops
        curves.append(np.append(np.cumsum(drops[::-1])[::-1], 0.0))
    return as_table(curves)


@given(st.integers(0, 2**31), st.integers(1, 9), st.integers(0, 3), st.booleans())
def test_curve_is_its_definition(seed, length, forced, sparse):
    generator = torch.Generator().manual_seed(seed)
    score = torch.rand(length, generator=generator).double()
    if sparse:
        score[torch.rand(length, generator=generator) < 0.5] = 0
    forced = min(forced, length)
    score[torch.randperm(length, generator=generator)[:forced]] = INF
    values = torch.randn(length, 3, generator=generator).double() + 100
    curve = cost_curve(score, values)
    assert curve.shape == (length - forced + 1,)
    assert curve[-1] == 0
    want = [brute_cost(score.tolist(), values.tolist(), b) for b in range(len(curve))]
    # Brute force subtracts means of size 100: its own squares are off by 1e-12.
    np.testing.assert_allclose(curve, want, atol=1e-6)
    assert (np.diff(curve) <= 0).all()


def test_curve_by_hand():
    """Half the score on -1 and half on 1: spread 1; behind one key there is none."""
    curve = cost_curve(torch.tensor([0.3, 0.3]), torch.tensor([[1.0], [-1.0]]))
    np.testing.assert_allclose(curve, [1, 0, 0], atol=1e-12)
    # Scores .5, .25, .25 with values 0, 2, -2: M(0) = 2, M(1) = 2, c(1) = sqrt(.5 * 2).
    curve = cost_curve(torch.tensor([0.5, 0.25, 0.25]), torch.tensor([[0.0], [2.0], [-2.0]]))
    np.testing.assert_allclose(curve, [math.sqrt(2), 1, 0, 0], atol=1e-12)


@given(
    st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 7),
    st.sampled_from(["convex", "dispersion", "any"]), st.floats(0, 1),
)  # fmt: skip
def test_division_is_dynamic_programming(seed, heads, length, kind, share):
    cost_hb = falling_curves(seed, heads, length, kind)
    room = int(np.isfinite(cost_hb).sum() - heads)
    total = round(share * room)
    want = best_sum(cost_hb, total)
    counts = multiplier.divide(cost_hb, total)
    assert counts.sum() == total
    # Sums of at most 28 float64 costs in another order.
    assert multiplier.cost_of(cost_hb, counts) == pytest.approx(want, abs=1e-11, rel=1e-11)
    repair = multiplier.divide(cost_hb, total, refine=False)
    assert repair.sum() == total
    assert multiplier.cost_of(cost_hb, repair) >= want - 1e-11
    if kind == "convex":
        assert multiplier.cost_of(cost_hb, repair) == pytest.approx(want, abs=1e-11)


def test_repair_alone_can_miss_the_optimum():
    """Heads that gain only with their last key: two keys should go to the second.

    Per key the first gains most, 7 / 3, so at the price where anybody buys it takes
    three. Repaired from no keys, both go to the third head; from three, one is taken
    back and the other two are useless.
    """
    cost_hb = np.array([[7.0, 7.0, 7.0, 0.0], [4.0, 4.0, 0.0, 0.0], [1.0, 0.9, 0.8, 0.8]])
    assert multiplier.divide(cost_hb, 2, refine=False).tolist() == [0, 0, 2]
    assert multiplier.divide(cost_hb, 2).tolist() == [0, 2, 0]
    for total in range(10):
        counts = multiplier.divide(cost_hb, total)
        assert multiplier.cost_of(cost_hb, counts) == best_sum(cost_hb, total)


def test_equal_heads_fall_to_the_first():
    """A convex curve twice: the odd key goes to the earlier head."""
    cost_hb = np.array([[4.0, 2.0, 1.0, 0.0]] * 2)
    assert multiplier.divide(cost_hb, 1).tolist() == [1, 0]
    assert multiplier.divide(cost_hb, 3).tolist() == [2, 1]
    flat = np.zeros((2, 4))
    assert multiplier.divide(flat, 4).tolist() == [3, 1]


def test_optimum_far_from_any_price():
    """Long steps: the best total lies between two prices that are far apart."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        steps = rng.integers(3, 9, size=4)
        cost_hb = np.stack([1.0 * h - h * (np.arange(31) // step * step) / 30
                            for h, step in zip(rng.random(4) + 1, steps)])
        cost_hb = np.maximum(cost_hb, 0)
        total = int(rng.integers(1, 120))
        counts = multiplier.divide(cost_hb, total)
        got = multiplier.cost_of(cost_hb, counts)
        assert got == pytest.approx(best_sum(cost_hb, total), abs=1e-11)


@st.composite
def layers(draw):
    """(scores, values, entries) of one to three layers with forced keys."""
    count, heads, length = (draw(st.integers(1, n)) for n in (3, 3, 12))
    forced = draw(st.integers(0, min(3, length)))
    entries = draw(st.integers(forced, length + 2))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    levels = draw(st.sampled_from([2, 5, 1000]))
    scores = torch.randint(levels, (count, heads, length), generator=generator) / levels
    scores[:, :, torch.randperm(length, generator=generator)[:forced]] = INF
    values = torch.randn(count, heads, length, 4, generator=generator)
    return list(scores), list(values), entries


@given(layers(), st.sampled_from(["layer", "model"]), st.booleans())
def test_totals_forced_keys_and_rankings(case, scope, refine):
    scores, values, entries = case
    depth, length = len(scores), scores[0].shape[1]
    rule = Dispersion(scope=scope, refine=refine)
    copies = [score.clone() for score in scores]
    kept = torch.stack(rule(scores, entries, range(depth), depth, values))
    assert all(torch.equal(a, b) for a, b in zip(scores, copies))
    mean = min(entries, length)
    per_layer = kept.sum((1, 2))
    assert per_layer.sum() == mean * kept[:, :, 0].numel()
    if scope == "layer":
        assert (per_layer == mean * kept.shape[1]).all()
    score = torch.stack(scores)
    assert kept[score == INF].all()
    for mask, row in zip(kept.flatten(0, 1), score.flatten(0, 1).tolist()):
        ranked = sorted(range(length), key=lambda j: (-row[j], j))
        assert mask.nonzero().flatten().tolist() == sorted(ranked[: int(mask.sum())])


@given(layers())
def test_counts_are_optimal(case):
    scores, values, entries = case
    rule = Dispersion(scope="model")
    kept = rule(scores, entries, range(len(scores)), len(scores), values)
    pairs = [(s, v, k) for group in zip(scores, values, kept) for s, v, k in zip(*group)]
    curves = [
        [brute_cost(s.tolist(), v.tolist(), b) for b in range(int((s < INF).sum()) + 1)]
        for s, v, _ in pairs
    ]
    counts = [int((k & (s < INF)).sum()) for s, _, k in pairs]
    got = sum(curve[b] for curve, b in zip(curves, counts))
    assert got == pytest.approx(best_sum(curves, sum(counts)), abs=1e-6)


def test_spread_values_get_the_keys():
    """Two heads with one score; the values of the first are all alike."""
    score = torch.linspace(1, 0.5, 20).expand(2, 20)
    spread = torch.arange(60.0).view(20, 3).sin()
    values = torch.stack([torch.ones(20, 3), spread])
    kept = Dispersion()([score], 10, [0], 1, [values])[0]
    assert kept.sum(1).tolist() == [1, 19]  # behind 19 keys one is left, without spread


def test_half_precision_values(generator):
    score = torch.rand(2, 50, generator=generator)
    values = torch.randn(2, 50, 8, generator=generator).to(torch.float16)
    exact = Dispersion()([score], 20, [0], 1, [values.double()])[0]
    assert torch.equal(Dispersion()([score], 20, [0], 1, [values])[0], exact)


def test_real_layers_are_divided_as_by_dynamic_programming(bundled, speech):
    for layer in observe.layers(bundled.model, speech[:200], [0, 10, 20, 29]):
        score = SnapKV(window=16)(layer)
        table = as_table([cost_curve(*pair) for pair in zip(score, layer.values_ksd)])
        for total in (10, 48, 100):
            counts = multiplier.divide(table, total)
            want = best_sum(table, total)
            assert multiplier.cost_of(table, counts) == pytest.approx(want, rel=1e-11)


def test_bad_arguments():
    score, values = torch.rand(1, 5), torch.rand(1, 5, 2)
    with pytest.raises(ValueError, match="scope: 'head'"):
        Dispersion(scope="head")
    with pytest.raises(ValueError, match="scores: the least is -"):
        Dispersion()([score - 2], 2, [0], 1, [values])
    with pytest.raises(ValueError, match="scores"):
        Dispersion()([score * torch.nan], 2, [0], 1, [values])
    with pytest.raises(ValueError, match="entries: 1 keys per head; 2 must stay"):
        Dispersion()([torch.tensor([[INF, INF, 1.0, 0.5, 0.1]])], 1, [0], 1, [values])
    with pytest.raises(ValueError, match="total: 9 keys; legal are 0 .. 3"):
        multiplier.divide(np.zeros((1, 4)), 9)
