"""Gap profiles: counts, power laws, the Gaussian limit, and bounds on any row."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.rows import gaps

LOGITS = st.lists(st.floats(-40, 40), min_size=1, max_size=60)
ROUNDING = 1e-12
"""A share may be decided either way when a mass meets it to float64's last digits."""


@given(LOGITS)
def test_profile_and_weights_are_those_of_the_row(logits):
    by_hand = sorted((max(logits) - x for x in logits))
    found = gaps.profile(logits)
    assert found.tolist() == pytest.approx(by_hand, abs=1e-12)
    heaviest = np.sort(np.exp(np.array(logits) - max(logits)))[::-1]
    # Sixty numbers are added up in another order.
    assert np.allclose(gaps.weights(found), heaviest / heaviest.sum(), rtol=1e-12, atol=0)
    shifted = gaps.profile([x + 3.25 for x in logits])
    assert torch.allclose(shifted, found, rtol=0, atol=1e-13)


@given(LOGITS, st.floats(0, 0.999))
def test_count_is_the_smallest_that_holds_the_mass(logits, eta):
    found = gaps.profile(logits)
    k = gaps.keys_for_mass(found, eta).item()
    p = sorted((math.exp(x - max(logits)) for x in logits), reverse=True)
    total = math.fsum(p)
    assert math.fsum(p[:k]) >= (1 - eta) * total - ROUNDING
    assert k == 1 or math.fsum(p[: k - 1]) < (1 - eta) * total + ROUNDING
    # The k-th partial sum holds it, one key fewer does not.
    mass = gaps.top_mass(found)
    assert mass[k - 1] >= 1 - eta - ROUNDING
    assert mass[-1] == 1 and (mass.diff() >= 0).all()


def test_tiny_shares_are_decided_from_the_light_end():
    """Beyond k = 20 lie 2^-20 of the mass; sums from the heavy end lose 1e-18."""
    halves = gaps.profile(-math.log(2) * torch.arange(200, dtype=torch.float64))
    # Mass beyond k is 2^-k up to 2^-200; ask for the middle between two powers.
    for k in (1, 5, 20, 60, 90):
        assert gaps.keys_for_mass(halves, 1.5 * 2.0**-k) == k
    assert gaps.keys_for_mass(halves, 0.0) == 200


def test_many_rows_many_shares_and_invisible_keys():
    generator = torch.Generator().manual_seed(3)
    logits = 2 * torch.randn(3, 4, 50, generator=generator)
    logits[..., 40:] = -torch.inf
    found = gaps.profile(logits)
    shares = [0.5, 0.1, 0.01, 0.0]
    counts = gaps.keys_for_mass(found, shares)
    assert counts.shape == (3, 4, 4) and counts.dtype == torch.int64
    for i, eta in enumerate(shares):
        assert torch.equal(gaps.keys_for_mass(found, eta), counts[..., i])
    alone = gaps.keys_for_mass(gaps.profile(logits[1, 2, :40]), shares)
    assert torch.equal(alone, counts[1, 2])
    assert (counts[..., -1] == 40).all()  # eta = 0 counts the visible keys


@pytest.mark.parametrize(
    ("gamma", "counts"),
    [(1.5, (40, 51, 56)), (1.0, (473, 3758, 29849)), (0.7, (732, 7177, 71074))],
)
def test_three_regimes(gamma, counts):
    """Counted one by one at eta = .1, and by the closed form without the row."""
    lengths = (10**3, 10**4, 10**5)
    for length, wanted in zip(lengths, counts):
        assert gaps.keys_for_mass(gaps.power_law(gamma, length), 0.1) == wanted
        # The count rounds up, and Euler-Maclaurin leaves half a key.
        assert gaps.power_law_keys(gamma, 0.1, length) == pytest.approx(wanted, abs=1)
    exponent = gaps.growth_exponent(lengths, counts).item()
    # Bounded, n^(1 - eta), a share: in three decades the first still creeps up.
    assert exponent == pytest.approx({1.5: 0.07, 1.0: 0.90, 0.7: 0.99}[gamma], abs=0.01)


def test_bounded_count_has_its_limit():
    zeta = 2.612375348685488  # of 1.5
    limit = (0.1 * 0.5 * zeta) ** -2
    assert gaps.power_law_keys(1.5, 0.1, 10**15) == pytest.approx(limit, rel=1e-6)


PROFILES = st.lists(st.floats(0, 3), min_size=1, max_size=80).map(
    lambda steps: torch.tensor([0.0, *np.cumsum(steps)], dtype=torch.float64)
)


@given(PROFILES, st.floats(1.05, 4), st.floats(0.01, 0.9))
def test_a_steep_profile_bounds_the_count(profile, gamma, eta):
    line = gaps.power_law(gamma, len(profile))
    offset = (line - profile).max().item()  # the smallest that makes the condition true
    assert gaps.keys_for_mass(profile, eta).item() <= gaps.most_keys(gamma, offset, eta)


@given(PROFILES, st.floats(0, 0.95), st.floats(0.01, 0.9))
def test_a_flat_profile_forces_the_count(profile, gamma, eta):
    line = gaps.power_law(gamma, len(profile))
    offset = (profile - line).max().item()
    least = gaps.least_keys(gamma, offset, eta, len(profile))
    assert gaps.keys_for_mass(profile, eta).item() >= least - 1e-9


def test_bounds_bite():
    """On the exact power laws they are within a factor of the truth."""
    steep = gaps.keys_for_mass(gaps.power_law(1.5, 10**5), 0.1).item()
    assert steep <= gaps.most_keys(1.5, 0.0, 0.1) <= 10 * steep
    flat = gaps.keys_for_mass(gaps.power_law(0.2, 10**4), 0.1).item()
    assert flat / 10 <= gaps.least_keys(0.2, 0.0, 0.1, 10**4) <= flat


def test_lines_are_found_where_there_are_lines():
    exact = 1.3 * torch.arange(1, 501, dtype=torch.float64).log()
    shifted = torch.cat([torch.zeros(1), exact[1:] + 0.4])
    line = gaps.fit_line(shifted, first=2)
    assert line.gamma.item() == pytest.approx(1.3, abs=1e-9)
    assert line.offset.item() == pytest.approx(0.4, abs=1e-9)
    assert line.residual.item() == pytest.approx(0, abs=1e-9)
    # A peer: weighted least squares of NumPy (its weights multiply the residuals).
    generator = torch.Generator().manual_seed(4)
    rough = gaps.profile(torch.randn(2, 300, generator=generator))
    found = gaps.fit_line(rough, first=4, last=200)
    ranks = np.arange(4, 201)
    for row in range(2):
        slope, offset = np.polyfit(
            np.log(ranks), rough[row, 3:200].numpy(), 1, w=ranks**-0.5
        )
        assert found.gamma[row].item() == pytest.approx(slope, rel=1e-9)
        assert found.offset[row].item() == pytest.approx(offset, rel=1e-9)
    assert (found.residual > 0.01).all()  # Gaussian rows are no power law


def test_gaussian_logits_need_a_share_of_the_keys():
    assert gaps.gaussian_share(1.0, 0.1) == pytest.approx(0.6109, abs=5e-5)
    generator = torch.Generator().manual_seed(5)
    for sigma, eta in ((1.0, 0.1), (2.0, 0.1), (0.5, 0.02)):
        logits = sigma * torch.randn(20, 50_000, generator=generator)
        share = gaps.keys_for_mass(gaps.profile(logits), eta).double().mean() / 50_000
        # A million draws: the share is known to about 1e-3, heavier tails to more.
        assert share.item() == pytest.approx(gaps.gaussian_share(sigma, eta), abs=3e-3)
    flat = gaps.gaussian_share(0.0, [0.1, 0.5])
    assert np.allclose(flat, [0.9, 0.5])  # equal logits: the share is the mass


@given(LOGITS)
def test_threshold_counts_are_small_for_every_row(logits):
    """At most ln n weights reach 1 / ln n, whatever the row."""
    found = gaps.profile(logits)
    n = len(logits)
    assert gaps.count_above(found) <= max(math.log(n), math.log(3))
    by_hand = sum(x >= 0.2 for x in gaps.weights(found).tolist())
    assert gaps.count_above(found, 0.2) == by_hand


def test_threshold_counts_mislead():
    """Two rows of 10,000 keys: the same count of heavy weights, 60 or 6,000 keys."""
    steep = gaps.power_law(1.5, 10_000)
    generator = torch.Generator().manual_seed(6)
    rest = torch.randn(9_998, generator=generator).double()
    # Two keys of weight 1/4 each over a Gaussian floor.
    heavy = rest.logsumexp(0).expand(2) + math.log(0.5)
    spread = gaps.profile(torch.cat([heavy, rest]))
    assert gaps.count_above(steep) == gaps.count_above(spread) == 2
    assert gaps.keys_for_mass(steep, 0.1) < 60 < 3_000 < gaps.keys_for_mass(spread, 0.1)


def test_real_rows_obey_the_bounds(bundled, speech):
    from kvteach import capture

    taken = capture.rows(bundled.model, speech[:512], layers=[0, 14, 29])
    for row in taken:
        found = gaps.profile(row.p.log())
        line = gaps.power_law(1.0, len(found))
        for gamma, eta in ((1.2, 0.1), (2.0, 0.01)):
            offset = (gamma * line - found).max().item()
            most = gaps.most_keys(gamma, offset, eta)
            assert gaps.keys_for_mass(found, eta).item() <= most
        offset = (found - 0.5 * line).max().item()
        least = gaps.least_keys(0.5, offset, 0.1, len(found))
        assert gaps.keys_for_mass(found, 0.1).item() >= least


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gaps.profile([]), "logits"),
        (lambda: gaps.profile([0.0, math.nan]), "logits"),
        (lambda: gaps.profile([[0.0], [-math.inf]]), "logits"),
        (lambda: gaps.weights([1.0, 2.0]), "gaps"),
        (lambda: gaps.weights([0.0, 2.0, 1.0]), "gaps"),
        (lambda: gaps.keys_for_mass([0.0], 1.0), "eta"),
        (lambda: gaps.keys_for_mass([0.0], -0.1), "eta"),
        (lambda: gaps.keys_for_mass([0.0], math.nan), "eta"),
        (lambda: gaps.count_above([0.0], 0), "threshold"),
        (lambda: gaps.power_law_keys(0, 0.1, 10), "gamma"),
        (lambda: gaps.power_law_keys(1, 0.0, 10), "eta"),
        (lambda: gaps.power_law_keys(1, 0.1, 0), "length"),
        (lambda: gaps.most_keys(1.0, 0.0, 0.1), "gamma"),
        (lambda: gaps.least_keys(1.0, 0.0, 0.1, 10), "gamma"),
        (lambda: gaps.fit_line([0.0, 1.0], first=2), "first"),
        (lambda: gaps.fit_line([0.0, math.inf]), "gaps"),
        (lambda: gaps.growth_exponent([4, 4], [1, 2]), "lengths"),
        (lambda: gaps.growth_exponent([4, 8], [0, 2]), "counts"),
        (lambda: gaps.gaussian_share(-1, 0.1), "sigma"),
        (lambda: gaps.gaussian_share(1, 1.0), "eta"),
    ],
)
def test_refusals(call, name):
    with pytest.raises(ValueError, match=name):
        call()
