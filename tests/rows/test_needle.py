"""The needle bound: published numbers, and random groups that meet its premises."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.rows import needle


def test_published_table():
    """D and Delta for seven uniform heads of eight, eta = ln 2, eps = .05, tau = .5.

    The paper's numbers for 4k and 64k, three digits; its last row is misprinted.
    """
    for length, background, lost in ((4096, 4.18e-7, 1.59e-6), (65536, 1.63e-9, 6.19e-9),
                                     (131072, 4.07e-10, 1.55e-9)):
        others = needle.background(length, [0.0] * 7)
        assert others == pytest.approx(background, rel=5e-3)
        assert needle.lost(0.05, math.log(2), others) == pytest.approx(lost, rel=5e-3)
    assert needle.mean_ceiling(0.05, 8) == pytest.approx(0.11875)


@given(st.integers(0, 2**31), st.integers(2, 8), st.integers(12, 400),
       st.sampled_from([0.1, 0.5, 1.0, 3.0]))
def test_no_group_that_meets_the_premises_loses_more(seed, heads, length, tau):
    """Softmax weights of collision entropies in float64, written out here."""
    g = torch.Generator().manual_seed(seed)
    rows = torch.rand(heads, length, generator=g, dtype=torch.float64) + 0.05
    rows[:, :4] *= 30 * torch.rand(heads, 1, generator=g, dtype=torch.float64)
    rows[0, length // 2] = length * torch.rand(1, generator=g, dtype=torch.float64) * 5
    rows /= rows.sum(1, keepdim=True)
    kept = rows[:, 4:] / rows[:, 4:].sum(1, keepdim=True)
    entropy = -kept.square().sum(1).log()
    weights = (-entropy / tau).softmax(0)
    mass = rows[0, length // 2].item()
    slack = math.log(length - 4) - entropy[1:]
    others = needle.background(length, slack.clamp_min(0), tau)
    pooled = (weights * rows[:, length // 2]).sum().item()
    lost = needle.lost(1 - mass, entropy[0].item(), others, tau)
    assert pooled >= mass - lost - 1e-12  # float64 rounding
    spread = rows[1:, length // 2].max().item()
    assert rows[:, length // 2].mean() <= needle.mean_ceiling(1 - mass, heads, spread) + 1e-12


def test_what_is_lost_vanishes_with_the_context_and_grows_with_eta():
    d = [needle.background(length, [0.3, 1.0]) for length in (100, 1000, 10_000)]
    lost = [needle.lost(0.1, 1.0, one) for one in d]
    assert lost[0] > lost[1] > lost[2]
    assert lost[2] == pytest.approx(lost[1] / 100, rel=0.05)  # 1 / tau = 2 powers of T
    assert needle.lost(0.1, 2.0, d[0]) > lost[0]
    assert needle.lost(0.1, 1.0, 0.0) == 0


def test_what_is_refused():
    for wrong in (lambda: needle.background(4, [0.0]), lambda: needle.background(9, [-1.0]),
                  lambda: needle.background(9, [0.0], tau=0), lambda: needle.lost(2, 1, 1),
                  lambda: needle.lost(0.1, -1, 1), lambda: needle.mean_ceiling(0.1, 0)):
        with pytest.raises(ValueError, match="need|legal"):
            wrong()
