"""The four-term certificate: never violated, its terms as they are defined."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.rows import error, four_terms
from kvteach.scores import observe
from kvteach.scores.coverage import Coverage

ROUNDING = 1e-12
"""Sums of fewer than 1,000 numbers of size 1, in float64."""

seeds = st.integers(0, 2**32 - 1)


def instance(seed, sharpness=1.0, keys=12, rows=3):
    """(p, v, kept, student, teacher, utility): a chain of softmaxes, each a step away."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    logits = [draw(rows, keys) * sharpness]
    for _ in range(3):
        logits.append(logits[-1] + draw(rows, keys) * sharpness)
    kept = torch.rand(rows, keys, generator=generator) < 0.4
    kept[:, 0] = True
    walk = [x.softmax(-1) for x in logits]
    return walk[3], draw(rows, keys, 4), kept, *walk[:3]


@given(seeds, st.sampled_from([0.1, 1.0, 5.0]))
def test_never_violated(seed, sharpness):
    p, v, kept, *walk = instance(seed, sharpness)
    found = four_terms.certificate(p, v, kept, *walk)
    assert (found.error <= found.sharper + ROUNDING).all()
    assert (found.sharper <= found.bound + ROUNDING).all()
    assert torch.allclose(found.error, error.forced_error(p, v, kept), atol=ROUNDING)
    assert ((found.terms >= 0) & (found.terms <= 1 + ROUNDING)).all()
    assert (found.steps.abs() <= found.terms + ROUNDING).all()
    assert (found.steps <= found.arriving + ROUNDING).all()
    assert (found.arriving <= found.terms + ROUNDING).all()
    assert torch.allclose(found.steps.sum(-1), error.dropped_mass(p, kept), atol=ROUNDING)


@given(seeds)
def test_terms_by_loops(seed):
    p, v, kept, *walk = instance(seed)
    found = four_terms.certificate(p, v, kept, *walk)
    for row in range(len(p)):
        chain = [pi[row].tolist() for pi in (*walk, p)]
        gone = [j for j, stays in enumerate(kept[row].tolist()) if not stays]
        want = [sum(chain[0][j] for j in gone)]
        want += [sum(abs(a - b) for a, b in zip(x, y)) / 2 for x, y in zip(chain, chain[1:])]
        assert found.terms[row].tolist() == pytest.approx(want, abs=ROUNDING)
        mass_of = [sum(pi[j] for j in gone) for pi in chain]
        steps = [mass_of[0], *(b - a for a, b in zip(mass_of, mass_of[1:]))]
        assert found.steps[row].tolist() == pytest.approx(steps, abs=ROUNDING)
        arriving = [sum(max(b[j] - a[j], 0) for j in gone) for a, b in zip(chain, chain[1:])]
        assert found.arriving[row, 1:].tolist() == pytest.approx(arriving, abs=ROUNDING)
        gap = error.factorization(p[row], v[row], kept[row]).centroid_gap
        assert float(found.bound[row]) == pytest.approx(float(gap) * min(sum(want), 1))


@given(seeds)
def test_signed_error_is_the_difference_of_outputs(seed):
    p, v, kept, *_ = instance(seed)
    want = error.dense_output(p, v) - error.forced_output(p, v, kept)
    assert torch.allclose(four_terms.signed_error(p, v, kept), want, atol=ROUNDING)


def test_it_is_tight_where_every_step_moves_mass_to_the_evicted():
    p = torch.tensor([0.2, 0.8])
    v = torch.tensor([[0.0], [1.0]])
    kept = torch.tensor([True, False])
    walk = [torch.tensor([1 - x, x]) for x in (0.1, 0.3, 0.6)]
    found = four_terms.certificate(p, v, kept, *walk)
    assert found.terms.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.2], abs=1e-7)
    assert float(found.looseness) == pytest.approx(1, abs=1e-6)


def test_a_bracket_above_one_is_cut():
    kept = torch.tensor([True, True, False])
    walk = [torch.eye(3)[i] for i in (2, 0, 1)]
    p, v = torch.eye(3)[0] * 0.9 + torch.eye(3)[2] * 0.1, torch.tensor([[0.0], [0.0], [1.0]])
    found = four_terms.certificate(p, v, kept, *walk)
    assert float(found.terms.sum()) > 3
    assert float(found.bound) == pytest.approx(1)  # the gap: no mass exceeds 1


@given(seeds, st.floats(0.01, 8))
def test_total_variation_stays_below_its_bounds(seed, size):
    generator = torch.Generator().manual_seed(seed)
    one, change = torch.randn(2, 9, generator=generator, dtype=torch.float64)
    change = change * size
    first, second = one.softmax(0), (one + change).softmax(0)
    distance = four_terms.total_variation(first, second)
    assert distance <= four_terms.by_divergence(first, second) + ROUNDING
    assert distance <= four_terms.by_divergence(second, first) + ROUNDING
    assert distance <= four_terms.by_oscillation(change) + ROUNDING
    shifted = four_terms.by_oscillation(change + 3)
    assert torch.allclose(four_terms.by_oscillation(change), shifted, atol=1e-9)


@given(st.floats(0.01, 8))
def test_the_bound_by_oscillation_is_reached(osc):
    """Half the mass up by osc: from e^-osc/2 : 1 to 1 : e^-osc/2."""
    change = torch.tensor([osc, 0.0], dtype=torch.float64)
    start = torch.tensor([-osc / 2, 0.0], dtype=torch.float64)
    moved = four_terms.total_variation(start.softmax(0), (start + change).softmax(0))
    assert float(moved) == pytest.approx(math.tanh(osc / 4), abs=1e-12)


def test_divergence_of_what_the_other_lacks():
    sure, fair = torch.tensor([1.0, 0.0]).double(), torch.tensor([0.5, 0.5]).double()
    assert float(four_terms.by_divergence(sure, fair)) == pytest.approx((math.log(2) / 2) ** 0.5)
    assert float(four_terms.by_divergence(fair, sure)) == math.inf


def test_refusals():
    p, v, kept, *walk = instance(1)
    with pytest.raises(ValueError, match="teacher: p: a row sums to 1 only within"):
        four_terms.certificate(p, v, kept, walk[0], 2 * walk[1], walk[2])
    with pytest.raises(ValueError, match="utility: over 11 keys; the row has 12"):
        four_terms.certificate(p, v, kept, walk[0], walk[1], torch.full((11,), 1 / 11))
    with pytest.raises(ValueError, match="kept: a row keeps no mass"):
        four_terms.certificate(p, v, kept & False, *walk)


def test_never_violated_on_real_rows(bundled, speech):
    """Every head of three layers, 32 rows that come after the eviction.

    Weights come in float32: a row sums to 1 within 1e-6, which the error inherits.
    """
    read, kept_keys = 448, 112
    loose = []
    for layer in observe.layers(bundled.model, speech[:480], [1, 14, 28]):
        prefix = observe.prefix(layer, read)
        teacher, utility = (Coverage(beta=b)(prefix)[0].double().softmax(0) for b in (128.0, 0.0))
        student = torch.full((read,), 1 / read, dtype=torch.float64)  # has learned nothing
        kept = torch.zeros(480, dtype=torch.bool)
        kept[teacher.topk(kept_keys).indices] = kept[:4] = kept[read:] = True
        walk = [torch.nn.functional.pad(pi, (0, 480 - read)) for pi in (student, teacher, utility)]
        p = layer.weights(read, 480).double()
        v = layer.values_ksd.double().repeat_interleave(layer.group_size, 0)[:, None]
        found = four_terms.certificate(p, v, kept, *walk)
        assert (found.error <= found.sharper + 1e-6).all()
        assert (found.sharper <= found.bound + 1e-6).all()
        assert (found.steps.abs() <= found.terms + 1e-6).all()
        loose.append(found.looseness.flatten())
    assert torch.cat(loose).min() >= 1 - 1e-6
