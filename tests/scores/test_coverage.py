"""CORE's teacher: its utility, its geometry, its iteration."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_layers import attention, random_layer

from kvteach.scores import coverage
from kvteach.scores.coverage import Coverage
from kvteach.scores.observe import layers, prefix


def draw(seed, *shape):
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def weights(seed, count, sharpness=1.0):
    return (sharpness * draw(seed, count)).softmax(0)


def points(seed, count, dim):
    """Directions in clusters, as keys are, centred."""
    centres = draw(seed, 3, dim)
    z = centres[torch.arange(count) % 3] + 0.5 * draw(seed + 1, count, dim)
    return coverage.centred(z / z.norm(dim=1, keepdim=True))


# --- utility ------------------------------------------------------------------


@pytest.mark.parametrize("heads, kv_heads", [(4, 4), (6, 2), (8, 2), (12, 2)])
@pytest.mark.parametrize("softcap", [None, 2.0])
def test_utility_is_the_definition_in_loops(generator, heads, kv_heads, softcap):
    layer = random_layer(generator, heads, kv_heads, length=30, softcap=softcap).layer
    queries, keys = layer.queries_htd.double(), layer.keys_ksd.double()
    size = heads // kv_heads
    expected = torch.full((30,), -torch.inf).double()
    for t in range(20, 30):
        for i in range(t + 1):
            for k in range(kv_heads):
                group = queries[k * size : (k + 1) * size, t]
                logit = group @ keys[k, i] * layer.scaling
                if softcap is not None:
                    logit = softcap * torch.tanh(logit / softcap)
                best = logit.sort(descending=True).values[:4].mean()
                expected[i] = torch.maximum(expected[i], best)
    # Float32 logits below 10: a few roundings of 2**-24 each.
    torch.testing.assert_close(
        coverage.utility(layer, 10, tile=7), expected, rtol=1e-5, atol=1e-5
    )


def test_logits_are_those_of_the_weights(generator):
    for softcap in (None, 3.0):
        layer = random_layer(generator, softcap=softcap, rows=25).layer
        ours = layer.logits(18, 33).softmax(-1).double()
        # float32 logits of size 5 are off by 1e-6.
        torch.testing.assert_close(ours, attention(layer)[:, 3:18], atol=3e-6, rtol=0)


def test_keys_that_no_row_sees_get_the_least_utility(generator):
    layer = random_layer(generator, ranking=25).layer
    u_s = coverage.utility(layer, 8)
    assert u_s.isfinite().all()
    assert torch.equal(u_s[25:], u_s[:25].min().expand(15))


# --- geometry -----------------------------------------------------------------


def test_the_representation_keeps_mean_cosines(generator):
    """E <Ra, Rb> = <a, b>: with 20,000 rows the projection is off by 1 / sqrt(20,000)
    of the lengths, 0.7%, and rarely by five times that in 40 x 40 pairs."""
    layer = random_layer(generator).layer
    z = coverage.representation(layer, dim=20000)
    keys = layer.keys_ksd.double()
    unit = keys / keys.norm(dim=-1, keepdim=True)
    cosines = (unit @ unit.transpose(1, 2)).mean(0)
    torch.testing.assert_close((z @ z.T).double(), cosines, rtol=0, atol=0.04)


def test_the_representation_is_fixed_and_knows_no_lengths(generator):
    layer = random_layer(generator).layer
    z = coverage.representation(layer)
    torch.testing.assert_close(z.norm(dim=1), torch.ones(40))
    layer.keys_ksd.mul_(torch.rand(2, 40, 1, generator=generator) * 9 + 1)
    torch.testing.assert_close(coverage.representation(layer), z)
    assert not torch.allclose(coverage.representation(layer, seed=1), z)


@given(st.integers(0, 10**6), st.floats(0.1, 30))
def test_gains_and_interactions_are_derivatives_of_log_det(seed, alpha):
    x_sz, w_s = points(seed, 7, 4), weights(seed + 2, 7)

    def log_det(w):
        return torch.logdet(coverage.covariance(w, x_sz, alpha))

    slope = torch.autograd.functional.jacobian(log_det, w_s)
    bend = torch.autograd.functional.hessian(log_det, w_s)
    pair = coverage.interactions(w_s, x_sz, alpha)
    # Float64 solves of 4 x 4 matrices of condition below 100.
    torch.testing.assert_close(coverage.gains(w_s, x_sz, alpha), slope, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(pair.diagonal(), slope, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(-pair.square(), bend, rtol=1e-8, atol=1e-9)


@given(st.integers(0, 10**6), st.floats(0.1, 30))
def test_a_pair_brings_less_than_its_parts(seed, alpha):
    x_sz, w_s = points(seed, 6, 4), weights(seed, 6)
    pair = coverage.interactions(w_s, x_sz, alpha)
    h_s = pair.diagonal()
    before = coverage.covariance(w_s, x_sz, alpha)

    def brings(*chosen):
        more = before + alpha * sum(torch.outer(x_sz[i], x_sz[i]) for i in chosen)
        return torch.logdet(more) - torch.logdet(before)

    rho2 = pair[1, 4] ** 2 / ((1 + h_s[1]) * (1 + h_s[4]))
    expected = h_s[1].log1p() + h_s[4].log1p() + torch.log1p(-rho2)
    torch.testing.assert_close(brings(1, 4), expected, rtol=1e-8, atol=1e-9)
    assert brings(1, 4) <= brings(1) + brings(4) + 1e-12


# --- the iteration ------------------------------------------------------------

problems = given(
    st.integers(0, 10**6), st.integers(2, 40), st.floats(0.1, 4),
    st.floats(0, 500), st.floats(0.5, 16),
)  # fmt: skip


@problems
def test_the_objective_rises_in_every_round(seed, count, alpha, beta, tau):
    u_s, x_sz = 3 * draw(seed, count), points(seed, count, 6)
    knobs = {"alpha": alpha, "beta": beta, "tau": tau}
    reached = coverage.objective(coverage.uniform(count), u_s, x_sz, **knobs)
    for log_w_s in coverage.iterate(u_s, x_sz, 8, **knobs):
        assert log_w_s.exp().sum() == pytest.approx(1, abs=1e-12)
        value = coverage.objective(log_w_s.exp(), u_s, x_sz, **knobs)
        assert value >= reached - 1e-12 * (1 + abs(reached))
        reached = value


@problems
def test_the_safe_share_never_lowers_it(seed, count, alpha, beta, tau):
    """From any weights, sharp ones too."""
    u_s, x_sz = 3 * draw(seed, count), points(seed, count, 6)
    w_s = weights(seed + 5, count, sharpness=4.0)
    knobs = {"alpha": alpha, "beta": beta, "tau": tau}
    share = coverage.safe_share(x_sz, **knobs)
    assert 0 < share <= 1
    log_w_s = coverage.step(w_s, u_s, x_sz, share, **knobs)
    before, after = (
        coverage.objective(w, u_s, x_sz, **knobs) for w in (w_s, log_w_s.exp())
    )
    assert after >= before - 1e-12 * (1 + abs(before))


def test_full_steps_may_lower_it():
    """Two orthogonal points and a heavy coverage: all weight goes to and fro."""
    x_sz = torch.tensor([[1.0, 0], [0, 1.0]]).double()
    u_s = torch.tensor([1.0, 0]).double()
    knobs = {"beta": 128.0, "tau": 1.0}
    rounds = coverage.iterate(u_s, x_sz, 6, rising=False, **knobs)
    values = [coverage.objective(lw.exp(), u_s, x_sz, **knobs) for lw in rounds]
    assert min(b - a for a, b in zip(values, values[1:])) < -1
    assert coverage.safe_share(x_sz, **knobs) == pytest.approx(1 / 33)


@pytest.mark.parametrize("beta", [0.0, 8.0, 128.0])
def test_it_ends_at_the_maximum(beta):
    """F is concave: where u + beta h - tau log w is one constant, F is largest."""
    u_s, x_sz = 3 * draw(1, 30), points(2, 30, 6)
    *_, log_w_s = coverage.iterate(u_s, x_sz, 400, beta=beta)
    level = u_s + beta * coverage.gains(log_w_s.exp(), x_sz) - 8.0 * log_w_s
    # Shares of a fifth at least: 0.8**400 of the first distance is nothing.
    assert level.max() - level.min() < 1e-8
    if beta == 0:
        torch.testing.assert_close(log_w_s, (u_s / 8).log_softmax(0))


# --- the rule -----------------------------------------------------------------


def test_the_score_is_the_published_iteration_in_plain_float64(generator):
    layer = random_layer(generator, size=2.0).layer
    score_ks = Coverage(window=9, rising=False, rounds=3, tau=20.0)(layer)
    u_s = coverage.utility(layer, 9)
    z = coverage.representation(layer).double()
    x_sz = z - z.mean(0)
    w_s = torch.full((40,), 1 / 40).double()
    for _ in range(3):
        sigma = torch.eye(64).double() + (x_sz.T * w_s) @ x_sz
        h_s = torch.einsum("sz,zy,sy->s", x_sz, sigma.inverse(), x_sz)
        w_s = ((u_s + 128 * h_s) / 20).softmax(0)
    assert score_ks.shape == (2, 40) and torch.equal(score_ks[0], score_ks[1])
    torch.testing.assert_close(score_ks[0].softmax(0).double(), w_s, rtol=1e-5, atol=1e-9)


def test_without_coverage_utility_ranks(generator):
    layer = random_layer(generator).layer
    order = Coverage(window=9, beta=0.0)(layer)[0].argsort()
    assert torch.equal(order, coverage.utility(layer, 9).float().argsort())


def test_a_crowd_counts_once():
    """Ten copies of one direction and ten lone ones, all in equal demand."""
    lone = torch.eye(11, dtype=torch.float64)
    x_sz = coverage.centred(torch.cat([lone[:1].expand(10, -1), lone[1:]]))
    *_, log_w_s = coverage.iterate(torch.zeros(20).double(), x_sz, 50)
    w_s = log_w_s.exp()
    assert w_s[:10].max() < w_s[10:].min() / 3
    # Together the crowd weighs about as much as one of the others.
    assert w_s[:10].sum() < 2 * w_s[10]


def test_scores_are_finite_however_far_apart(generator):
    """Weights of e^-10,000 are 0, and such a key must not end at -inf."""
    layer = random_layer(generator, size=1e5).layer
    for tau in (8.0, 0.01):
        score_ks = Coverage(window=9, tau=tau)(layer)
        assert score_ks.isfinite().all() and score_ks.min() < -100


def test_wrong_parameters_are_named(generator):
    for change in ({"window": 0}, {"rounds": 0}, {"dim": 0}):
        name = next(iter(change))
        with pytest.raises(ValueError, match=f"{name}: 0; need 1 or more"):
            Coverage(**change)
    for change in ({"beta": -1.0}, {"alpha": 0.0}, {"tau": 0.0}):
        with pytest.raises(ValueError, match="beta, alpha, tau"):
            Coverage(**change)
    layer = random_layer(generator).layer
    with pytest.raises(ValueError, match="40 rows can rank, 128 are needed"):
        Coverage()(layer)


def test_on_real_keys_full_steps_swing_and_ours_rise(bundled, speech):
    [layer] = layers(bundled.model, speech[:512], [20])
    pre = prefix(layer, 512)
    u_s = coverage.utility(pre, 128)
    x_sz = coverage.centred(coverage.representation(pre))

    def values(rising):
        rounds = coverage.iterate(u_s, x_sz, 8, rising)
        return [float(coverage.objective(lw.exp(), u_s, x_sz)) for lw in rounds]

    ours, theirs = values(True), values(False)
    assert ours == sorted(ours) and theirs != sorted(theirs)
    assert ours[-1] > max(theirs)
