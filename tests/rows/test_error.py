"""The error of one row against its definition, worked examples and identities."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.rows import error
from kvteach.rows.select import top_mass

# Sums of at most 40 float64 products, then a quotient: a few ulps of 1.
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


@st.composite
def kept_rows(draw):
    """A row in plain NumPy: peaked or flat weights, a non-empty kept set."""
    length = draw(st.integers(1, 40))
    width = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = rng.normal(size=length) * draw(st.sampled_from([0.0, 1.0, 8.0]))
    p = np.exp(logits - logits.max())
    p /= p.sum()
    v = rng.normal(size=(length, width)) * draw(st.sampled_from([1e-3, 1.0, 50.0]))
    kept = rng.random(length) < draw(st.floats(0.05, 0.95))
    kept[rng.integers(length)] = True
    return p, v, kept


@given(kept_rows())
def test_every_quantity_matches_its_definition(row):
    p, v, kept = row
    mu = sum(p[j] * v[j] for j in range(len(p)))
    forced = sum(p[j] * v[j] for j in range(len(p)) if kept[j]) / p[kept].sum()
    scale = {"rtol": 1e-9, "atol": 1e-11 * np.abs(v).max()}

    np.testing.assert_allclose(error.dense_output(p, v), mu, **scale)
    np.testing.assert_allclose(error.forced_output(p, v, kept), forced, **scale)
    np.testing.assert_allclose(
        error.forced_error(p, v, kept), math.dist(mu, forced), **scale
    )
    np.testing.assert_allclose(error.dropped_mass(p, kept), p[~kept].sum(), **CLOSE)
    np.testing.assert_allclose(
        error.missing_statistic(p, v, kept),
        sum((p[j] * v[j] for j in range(len(p)) if not kept[j]), np.zeros(v.shape[1])),
        **scale,
    )


@given(kept_rows())
def test_error_is_dropped_mass_times_centroid_gap(row):
    parts = error.factorization(*row)
    size = np.abs(row[1]).max()
    assert parts.error.item() == pytest.approx(
        (parts.dropped_mass * parts.centroid_gap).item(), rel=1e-9, abs=1e-11 * size
    )


@given(kept_rows())
def test_error_is_the_summed_deviation_over_the_kept_mass(row):
    p, v, kept = row
    gamma = error.deviations(p, v)
    size = np.abs(v).max()
    assert gamma.sum(0).abs().max() <= 1e-12 * size
    assert error.phi(p, v, kept).item() / p[kept].sum() == pytest.approx(
        error.forced_error(p, v, kept).item(), rel=1e-9, abs=1e-11 * size
    )


@given(kept_rows())
def test_missing_statistic_restores_the_dense_output(row):
    p, v, kept = row
    mass = error.dropped_mass(p, kept)
    restored = (1 - mass) * error.forced_output(p, v, kept)
    restored = restored + error.missing_statistic(p, v, kept)
    np.testing.assert_allclose(
        restored, error.dense_output(p, v), rtol=1e-9, atol=1e-11 * np.abs(v).max()
    )


@pytest.mark.parametrize(
    ("keys", "expected"), [([0, 1], 1 / 2), ([0, 2], 9 / 22), ([1, 2], 27 / 22)]
)
def test_example_2_2_of_the_paper(keys, expected):
    """arXiv 2608.25230, example 2.2: the lighter pair has the smaller error."""
    p, v = [0.45, 0.45, 0.10], [[-1.0], [1.0], [5.0]]
    assert error.forced_error(p, v, error.mask_of(keys, 3)).item() == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [((2,), (1 / 2, 1 / 2)), ((1, 2), (0, 1 / 2)), ((1,), (1 / 2, 1)), ((1, 3), (1 / 2, 1 / 6))],
)
def test_adding_a_key_can_help_or_hurt_whatever_was_kept(before, after):
    """Example A.2: uniform weights on 0, 1, 2, 3; add point 0 to four kept sets."""
    p, v = torch.full((4,), 0.25), torch.arange(4.0)[:, None]
    without = error.forced_error(p, v, error.mask_of(before, 4)).item()
    with_it = error.forced_error(p, v, error.mask_of((0, *before), 4)).item()
    assert (without, with_it) == pytest.approx(after, abs=1e-12)


def test_hardness_gadget_vanishes_exactly_on_equal_partitions():
    """Lemmas A.4 and A.5: e = 0 iff the kept half of the integers sums to the rest."""
    weights = torch.tensor([1.0, 4, 6, 9])
    p = torch.full((4,), 0.25)
    equal = error.forced_error(p, weights[:, None], error.mask_of([0, 3], 4)).item()
    unequal = error.forced_error(p, weights[:, None], error.mask_of([0, 2], 4)).item()
    assert equal == 0
    assert unequal >= 2 / 4**2


def test_omitted_values_can_cancel_at_any_mass():
    p = torch.tensor([0.02, 0.49, 0.49], dtype=torch.float64)
    v = torch.tensor([[0.0], [1.0], [-1.0]])
    kept = error.mask_of([0], 3)
    assert error.dropped_mass(p, kept).item() == pytest.approx(0.98)
    assert error.forced_error(p, v, kept).item() == pytest.approx(0, abs=1e-15)


def test_batches_give_each_row_its_own_answer(generator):
    logits = torch.randn(4, 3, 11, generator=generator)
    p, v = logits.softmax(-1), torch.randn(4, 3, 11, 5, generator=generator)
    kept = torch.rand(4, 3, 11, generator=generator) < 0.5
    kept[..., 0] = True
    for function in (error.forced_output, error.forced_error, error.phi):
        batch = function(p, v, kept)
        single = function(p[2, 1], v[2, 1], kept[2, 1])
        torch.testing.assert_close(batch[2, 1], single, rtol=1e-12, atol=1e-14)
        assert batch.dtype == torch.float64


def test_keeping_everything_costs_nothing(generator):
    p = torch.randn(9, generator=generator).softmax(-1)
    v = torch.randn(9, 4, generator=generator)
    parts = error.factorization(p, v, torch.ones(9, dtype=torch.bool))
    assert parts.error.item() == pytest.approx(0, abs=1e-7)  # float32 weights sum to 1 +- 1e-7
    assert parts.dropped_mass.item() == 0
    assert parts.centroid_gap.isfinite()


def test_top_mass_keeps_the_heaviest_and_breaks_ties_by_position():
    p = torch.tensor([0.1, 0.3, 0.2, 0.2, 0.2])
    assert top_mass(p, 3).tolist() == [False, True, True, True, False]
    assert top_mass(torch.full((2, 4), 0.25), 1).tolist() == [[True, False, False, False]] * 2


@given(kept_rows())
def test_no_set_of_its_size_drops_less_than_top_mass(row):
    p, _, kept = row
    best = error.dropped_mass(p, top_mass(p, int(kept.sum())))
    assert best <= error.dropped_mass(p, kept) + 1e-12


BAD = [
    (lambda p, v, k: error.forced_error(p[:0], v[:0], k[:0]), "holds no keys"),
    (lambda p, v, k: error.forced_error(2 * p, v, k), "sums to 1 only within"),
    (lambda p, v, k: error.forced_error(p - 0.5, v, k), "negative"),
    (lambda p, v, k: error.forced_error(p * torch.nan, v, k), "not finite"),
    (lambda p, v, k: error.forced_error(p, v * torch.inf, k), "not finite"),
    (lambda p, v, k: error.forced_error(p, v[:-1], k), "one value for each"),
    (lambda p, v, k: error.forced_error(p, v, k.long()), "not a mask"),
    (lambda p, v, k: error.forced_error(p, v, k[:-1]), "does not cover"),
    (lambda p, v, k: error.forced_error(p, v, torch.zeros_like(k)), "no mass"),
    (lambda p, v, k: error.mask_of([0, 7], 5), "0 .. 4"),
    (lambda p, v, k: error.mask_of([1.7], 5), "whole numbers"),
    (lambda p, v, k: error.dense_output(p + 0j, v), "real numbers"),
    (lambda p, v, k: error.forced_error(p, v.expand(3, 5, 2), k.expand(2, 5)), "kept: leading"),
    (lambda p, v, k: error.dense_output(p.expand(3, 5), v.expand(2, 5, 2)), "v: leading"),
    (lambda p, v, k: top_mass(p, 0), "outside 1 .. 5"),
    (lambda p, v, k: top_mass(p, 6), "outside 1 .. 5"),
]


@pytest.mark.parametrize(("call", "words"), BAD)
def test_bad_input_is_named(call, words):
    p, v = torch.full((5,), 0.2), torch.ones(5, 2)
    with pytest.raises(ValueError, match=words):
        call(p, v, torch.ones(5, dtype=torch.bool))
