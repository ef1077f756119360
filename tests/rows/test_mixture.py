"""Retrieval and aggregation: where exact and truncated attention change places."""

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from kvteach.rows import mixture
from kvteach.rows.mixture import Weight

UNIT = st.floats(0, 1)


def ideal(w, signal, background):
    """The published operator: w v* + (1 - w) vbar, nothing else."""
    return w * signal + (1 - w) * background


@given(UNIT, UNIT, UNIT, st.integers(0, 1000))
def test_ideal_operators_cross_at_the_midpoint(alpha, one, other, seed):
    """With w_s > w_e and no residual, sparse wins iff alpha > (w_e + w_s) / 2."""
    w_e, w_s = sorted((one, other))
    assume(abs(alpha - (w_e + w_s) / 2) > 1e-6 and w_s - w_e > 1e-6)
    generator = torch.Generator().manual_seed(seed)
    signal, background = torch.randn(2, 5, dtype=torch.float64, generator=generator)
    y = mixture.target(alpha, signal, background)
    gap = (signal - background).norm()
    e, s = ((y - ideal(w, signal, background)).norm() for w in (w_e, w_s))
    assert e.item() == pytest.approx(abs(alpha - w_e) * gap.item(), abs=1e-12)
    assert (s < e) == (alpha > (w_e + w_s) / 2)
    split = [mixture.signal_weight(ideal(w, signal, background), signal, background)
             for w in (w_e, w_s)]  # fmt: skip
    assert split[0].w.item() == pytest.approx(w_e, abs=1e-12)
    assert split[1].spread.item() == pytest.approx(0, abs=1e-12)
    assert mixture.crossing(*split) == pytest.approx((w_e + w_s) / 2, abs=1e-9)


@given(st.integers(0, 10_000), st.floats(-1, 2))
def test_any_output_splits_and_its_error_follows(seed, alpha):
    """||y - o||^2 = ((alpha - w)^2 + spread) ||delta||^2 for arbitrary vectors."""
    generator = torch.Generator().manual_seed(seed)
    output, signal, background = torch.randn(3, 7, 4, dtype=torch.float64, generator=generator)
    split = mixture.signal_weight(output, signal, background)
    y = mixture.target(alpha, signal, background)
    direct = ((y - output) ** 2).sum(-1) / ((signal - background) ** 2).sum(-1)
    # Differences of numbers up to about 1e4: float64 leaves 1e-12 of them.
    assert torch.allclose(mixture.squared_error(alpha, split), direct, rtol=1e-9, atol=1e-9)


@given(st.lists(st.tuples(UNIT, UNIT, UNIT, UNIT), min_size=1, max_size=8))
def test_crossing_is_where_mean_errors_are_equal(rows):
    columns = torch.tensor(rows, dtype=torch.float64).T
    exact, sparse = Weight(columns[0], columns[1]), Weight(columns[2], columns[3])
    assume(sparse.w.mean() - exact.w.mean() > 1e-3)
    at = mixture.crossing(exact, sparse)

    def gain(alpha):
        return (mixture.squared_error(alpha, exact) - mixture.squared_error(alpha, sparse)).mean()

    # The crossing lies up to 1e3 out, so its square costs six digits.
    assert gain(at).item() == pytest.approx(0, abs=1e-8)
    assert gain(at - 0.1) < 0 < gain(at + 0.1)


def test_more_spread_moves_the_crossing_to_more_retrieval():
    flat = torch.zeros(1, dtype=torch.float64)
    exact, clean = Weight(flat + 0.2, flat), Weight(flat + 0.6, flat)
    noisy = Weight(flat + 0.6, flat + 0.08)
    assert mixture.midpoint(exact, noisy) == pytest.approx(0.4)
    assert mixture.crossing(exact, clean) == pytest.approx(0.4)
    assert mixture.crossing(exact, noisy) == pytest.approx(0.4 + 0.08 / 0.8)


@pytest.mark.parametrize(("noise", "midpoint_holds"), [(0.0, True), (3.0, False)])
def test_crossing_is_predicted_from_other_trials(noise, midpoint_holds):
    """Signal weights of one sample of rows predict where another sample crosses."""
    generator = torch.Generator().manual_seed(20260829)
    shape = {"keys": 128, "kept": 8, "noise": noise}
    shape["strength"] = mixture.balanced_strength(128, 8)
    first, second = (mixture.draw(generator, 1500, **shape) for _ in range(2))
    exact, sparse = (
        mixture.signal_weight(o, first.signal, first.background)
        for o in (first.exact, first.sparse)
    )
    assert exact.w.mean() + sparse.w.mean() == pytest.approx(1, abs=0.03)
    alphas = torch.linspace(0, 1, 11, dtype=torch.float64)
    gains = torch.stack([mixture.gains(second, alpha) for alpha in alphas])
    assert (gains[0].mean() < 0) and (gains[-1].mean() > 0)
    found, low, high = mixture.crossing_interval(
        alphas, gains, generator, resamples=1000, level=0.99
    )
    assert low < found < high
    # Both sides are samples of 1500: a difference is sqrt 2 times as uncertain.
    room = (high - low) / 2 * math.sqrt(2)
    assert abs(mixture.crossing(exact, sparse) - found) < room
    # Without noise only the variances of w differ: a few thousandths.
    assert (abs(mixture.midpoint(exact, sparse) - found) < 4 * room) == midpoint_holds
    # On the same trials the two are one number: the identity, summed over trials.
    own = (
        mixture.signal_weight(o, second.signal, second.background)
        for o in (second.exact, second.sparse)
    )
    assert mixture.crossing(*own) == pytest.approx(found, abs=1e-9)


def test_draw_is_attention_over_random_keys():
    generator = torch.Generator().manual_seed(1)
    same = torch.Generator().manual_seed(1)
    trials = mixture.draw(generator, 300, keys=64, kept=64, dim=8, noise=1.0)
    again = mixture.draw(same, 300, keys=64, kept=4, dim=8, noise=1.0)
    # All keys kept: truncated is exact. Fewer kept: more signal, same exact output.
    assert torch.allclose(trials.exact, trials.sparse, rtol=0, atol=1e-12)
    assert torch.equal(trials.exact, again.exact)
    weight = mixture.signal_weight(again.sparse, again.signal, again.background)
    assert weight.w.mean() > mixture.signal_weight(*trials[2:3], *trials[:2]).w.mean()
    # One key kept is the signal itself where its logit is out of reach of the rest.
    alone = mixture.draw(generator, 50, keys=64, kept=1, dim=8, strength=30.0)
    assert torch.allclose(alone.sparse, alone.signal, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda g: mixture.draw(g, 2, keys=8, kept=9), "kept"),
        (lambda g: mixture.draw(g, 2, keys=8, kept=0), "kept"),
        (lambda g: mixture.draw(g, 2, sigma=0.0), "sigma"),
        (lambda g: mixture.draw(g, 2, noise=-1.0), "noise"),
        (lambda g: mixture.balanced_strength(8, 1), "kept"),
        (lambda g: mixture.signal_weight(*torch.ones(3, 2, 4)), "signal"),
        (lambda g: mixture.measured_crossing([0.5], torch.ones(1, 3)), "alphas"),
        (lambda g: mixture.measured_crossing([0, 1], torch.ones(3, 2)), "alphas"),
        (lambda g: mixture.crossing(*[Weight(torch.ones(2), torch.ones(2))] * 2), "sparse"),
    ],
)
def test_refusals(call, name, generator):
    with pytest.raises(ValueError, match=name):
        call(generator)
