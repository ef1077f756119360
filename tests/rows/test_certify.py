"""Certificates against exhaustive search, every selector's sets, SCIP and the clock."""

import itertools
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvteach.rows import certify, error, exact


def row(seed, keys, width, sharpness):
    rng = np.random.default_rng(seed)
    p = np.exp(sharpness * rng.standard_normal(keys))
    return p / p.sum(), rng.standard_normal((keys, width)) + rng.standard_normal(width)


def exhaustive(p, v, size, floor):
    gamma = p[:, None] * (v - p @ v)
    subsets = np.array(list(itertools.combinations(range(len(p)), size)))
    mass = p[subsets].sum(1)
    errors = np.linalg.norm(gamma[subsets].sum(1), axis=1) / mass
    least_mass = (floor or 0) * np.sort(p)[-size:].sum() * (1 - 1e-12)
    return errors[mass >= least_mass].min()


@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    keys=st.integers(2, 13),
    size=st.integers(1, 6),
    width=st.integers(1, 6),
    sharpness=st.sampled_from([0.0, 0.5, 2.0, 6.0]),  # the last: weights over 15 decades
    floor=st.sampled_from([None, 0.5, 0.9, 1.0]),
    gap=st.sampled_from([0.0, 0.01, 0.3]),
)
def test_bounds_enclose_the_optimum(seed, keys, size, width, sharpness, floor, gap):
    p, v = row(seed, keys, width, sharpness)
    size = min(size, keys)
    least = exhaustive(p, v, size, floor)
    found = certify.certify(p, v, size, floor, gap, time_limit=20)
    # Below this an error counts as zero (see best_subset).
    rounding = 16 * np.finfo(float).eps * np.sqrt(width) * np.abs(v).max()
    assert found.proved
    assert found.lower <= least * (1 + 1e-9) + rounding
    assert found.upper >= least * (1 - 1e-9) - rounding
    assert found.upper * (1 - gap) <= least * (1 + 1e-9) + rounding
    kept = error.mask_of(found.indices, keys)
    assert found.upper == pytest.approx(error.forced_error(p, v, kept).item(), abs=rounding)
    assert len(set(found.indices.tolist())) == size


@pytest.mark.parametrize("floor", [None, 0.9])
@pytest.mark.parametrize("size", [4, 8])
def test_no_pool_and_no_random_set_contradicts_a_certificate(size, floor):
    rng = np.random.default_rng(9)
    for seed in range(6):
        p, v = row(seed, 150, 16, 2.0)
        found = certify.certify(p, v, size, floor, time_limit=1.0)
        pool = exact.published_pool(p, v, size)
        assert exact.best_subset(p, v, size, pool, floor=floor).error >= found.lower
        if floor is None:
            gamma = error.deviations(p, v).numpy()
            sets = np.argsort(rng.random((2000, 150)) / p**0.5, axis=1)[:, :size]
            errors = np.linalg.norm(gamma[sets].sum(1), axis=1) / p[sets].sum(1)
            assert errors.min() >= found.lower


def test_gap_zero_gives_the_optimum_of_best_subset():
    for seed in range(5):
        p, v = row(seed, 40, 12, 1.5)
        found = certify.certify(p, v, 5, gap=0.0)
        best = exact.best_subset(p, v, 5)
        assert found.proved
        assert found.upper == pytest.approx(best.error.item(), rel=1e-9)
        assert found.lower == pytest.approx(best.error.item(), rel=1e-9)


def flat_row():
    """Far beyond any search: 900 equal weights, a size of 16."""
    v = np.random.default_rng(10).standard_normal((900, 64))
    return np.full(900, 1 / 900), v


def test_out_of_time_still_returns_what_is_known():
    p, v = flat_row()
    certify.certify(p[:20] * 45, v[:20], 3)  # compile
    began = time.perf_counter()
    found = certify.certify(p, v, 16, time_limit=0.3)
    assert time.perf_counter() - began < 3.0  # the limit, a slice and a busy machine
    assert not found.proved
    assert 0 <= found.lower <= found.upper
    kept = error.mask_of(found.indices, 900)
    assert found.upper == pytest.approx(error.forced_error(p, v, kept).item(), rel=1e-9)
    heaviest = error.mask_of(list(range(16)), 900)
    assert found.upper <= error.forced_error(p, v, heaviest).item()


def test_an_interrupt_returns_what_is_known():
    # A process that was started in the background ignores the signal otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        check_interrupt()
    finally:
        signal.signal(signal.SIGINT, before)


def check_interrupt():
    p, v = flat_row()
    certify.certify(p, v, 16, time_limit=0.1)  # an interrupt of the compiler is raised
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    began = time.perf_counter()
    found = certify.certify(p, v, 16, time_limit=60)
    assert time.perf_counter() - began < 30
    assert not found.proved and 0 <= found.lower <= found.upper


def test_rows_that_end_at_once():
    alone = certify.certify([1.0], [[3.0, 4.0]], 2)
    assert alone.proved and alone.upper == 0 and alone.indices.tolist() == [0]
    same = certify.certify(np.full(50, 0.02), np.ones((50, 4)), 7)
    assert same.proved and same.upper < 1e-14


@pytest.mark.parametrize(
    "argument, change",
    [
        ("p", {"p": np.full((2, 4), 0.25), "v": np.ones((2, 4, 3))}),
        ("size", {"size": 0}),
        ("gap", {"gap": 1.0}),
        ("gap", {"gap": -0.1}),
        ("time_limit", {"time_limit": 0}),
        ("floor", {"floor": 2}),
        ("through", {"through": np.ones((3, 5))}),
    ],
)
def test_wrong_arguments_are_named(argument, change):
    call = {"p": np.full(4, 0.25), "v": np.eye(4)[:, :3], "size": 2} | change
    with pytest.raises(ValueError, match=f"^{argument}:"):
        certify.certify(**call)


def scip_beats(gamma, p, size, level):
    """Whether SCIP finds a set with ||sum gamma|| <= level p(A), as a cone program."""
    scip = pytest.importorskip("pyscipopt")
    scale = 1 / np.linalg.norm(gamma, axis=1).max()
    gamma, p = gamma * scale, p * scale
    model = scip.Model()
    model.hideOutput()
    model.setParam("limits/time", 30)
    z = [model.addVar(vtype="B") for _ in p]
    model.addCons(scip.quicksum(z) == size)
    bound = model.addVar(lb=0)
    model.addCons(bound == level * scip.quicksum(a * x for a, x in zip(p, z)))
    sums = [scip.quicksum(g * x for g, x in zip(column, z)) for column in gamma.T]
    model.addCons(scip.quicksum(x * x for x in sums) <= bound * bound)
    model.optimize()
    return model.getStatus() == "optimal", model.getNSols() > 0


@pytest.mark.parametrize("seed", range(3))
def test_scip_finds_no_set_below_a_certificate(seed):
    p, v = row(seed, 18, 5, 1.0)
    found = certify.certify(p, v, 4, gap=0.0)
    gamma = error.deviations(p, v).numpy()
    # 0.1 % on either side: SCIP's feasibility tolerance lets 2e-4 slip.
    _, beaten = scip_beats(gamma, p, 4, found.lower * 0.999)
    assert not beaten
    finished, reached = scip_beats(gamma, p, 4, found.upper * 1.001)
    assert reached or not finished
