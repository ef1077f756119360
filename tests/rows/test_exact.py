"""Both engines against float64 brute force, against each other, and at the edges."""

import itertools

import numpy as np
import pytest
import torch

from kvteach.rows import branch, error, exact

RELATIVE = 1e-9  # what best_subset promises
PUBLISHED = {4: 20_475, 8: 125_970, 16: 74_613, 32: 58_905}  # subsets per pool


def real_like_row(rng, keys, width, sharpness):
    """Weights from logits with a heavy first key; values with a common part."""
    logits = sharpness * rng.standard_normal(keys)
    logits[0] += sharpness
    p = np.exp(logits - logits.max())
    v = rng.standard_normal((keys, width)) + rng.standard_normal(width)
    v[0] *= 0.1  # sinks hold short values
    return p / p.sum(), v


def brute_force(p, v, size, pool, through, floor):
    """Least ||W (mu - m_A)|| straight from the definition, and all errors."""
    w = np.eye(v.shape[1]) if through is None else through
    subsets = np.array(list(itertools.combinations(sorted(pool), size)))
    mass = p[subsets].sum(1)
    outputs = np.einsum("ks,ksd->kd", p[subsets], v[subsets]) / mass[:, None]
    errors = np.linalg.norm((p @ v - outputs) @ w.T, axis=1)
    if floor is not None:
        errors[mass < floor * np.sort(p)[-size:].sum() * (1 - 1e-12)] = np.inf
    return errors.min(), subsets[errors.argmin()]


@pytest.mark.parametrize("engine", exact.ENGINES)
@pytest.mark.parametrize("through", [False, True])
@pytest.mark.parametrize("floor", [None, 0.5, 0.9, 1.0])
def test_engines_equal_brute_force(engine, through, floor):
    rng = np.random.default_rng(0)
    for trial in range(30):
        p, v = real_like_row(rng, 40, 6, rng.choice([0.3, 1.0, 2.5]))
        w = rng.standard_normal((9, 6)) if through else None
        size = int(rng.integers(1, 6))
        heavy = np.argsort(-p)[:size]
        others = np.setdiff1d(np.arange(40), heavy)
        pool = np.concatenate([heavy, rng.choice(others, 7, replace=False)])
        least, members = brute_force(p, v, size, pool, w, floor)
        found = exact.best_subset(p, v, size, pool, w, floor, engine)
        assert found.error.item() == pytest.approx(least, rel=RELATIVE)
        assert found.indices.tolist() == members.tolist()
        assert found.mass.item() == pytest.approx(p[members].sum(), rel=1e-12)


@pytest.mark.parametrize("size", [4, 8, 16, 32])
def test_engines_agree_on_published_pools(size):
    rng = np.random.default_rng(size)
    for trial in range(6):
        p, v = real_like_row(rng, 300, 16, [0.5, 1.0, 2.0][trial % 3])
        pool = exact.published_pool(p, v, size)
        bounds = exact.best_subset(p, v, size, pool)
        products = exact.best_subset(p, v, size, pool, engine="products")
        assert bounds.indices.tolist() == products.indices.tolist()
        kept = error.mask_of(bounds.indices, 300)
        assert bounds.error.item() == pytest.approx(
            error.forced_error(p, v, kept).item(), rel=RELATIVE
        )


def test_the_readable_search_gives_the_same_optimum():
    rng = np.random.default_rng(1)
    for trial in range(10):
        p, v = real_like_row(rng, 200, 16, 1.5)
        pool = np.sort(np.argsort(-p)[:20])
        gamma = error.deviations(p, v).numpy()[pool]
        members, least, _ = branch.branch_and_bound(gamma, p[pool], 6)
        found = exact.best_subset(p, v, 6, pool, engine="products")
        assert least == pytest.approx(found.error.item(), rel=2e-9)
        assert pool[members].tolist() == found.indices.tolist()


@pytest.mark.parametrize("size", PUBLISHED)
def test_published_pool_holds_the_published_number_of_subsets(size):
    p, v = real_like_row(np.random.default_rng(2), 100, 8, 1.0)
    pool = exact.published_pool(p, v, size)
    assert len(set(pool.tolist())) == len(pool)
    assert set(np.argsort(-p)[:size]) <= set(pool.tolist())
    count = np.prod([(len(pool) - k) / (k + 1) for k in range(size)])
    assert round(count) == PUBLISHED[size]


def test_published_pool_adds_the_longest_deviations():
    p, v = real_like_row(np.random.default_rng(3), 60, 8, 1.0)
    extra = exact.published_pool(p, v, 4)[4:].numpy()
    length = np.linalg.norm(error.deviations(p, v).numpy(), axis=1)
    outside = np.setdiff1d(np.arange(60), np.argsort(-p)[:4])
    assert set(extra) == set(outside[np.argsort(-length[outside])[:24]])


@pytest.mark.parametrize("engine", exact.ENGINES)
def test_published_example(engine):
    """arXiv 2608.25230, Example 2.2: the heaviest pair is not the best one."""
    p, v = [0.45, 0.45, 0.10], [[-1.0], [1.0], [5.0]]
    found = exact.best_subset(p, v, 2, engine=engine)
    assert found.indices.tolist() == [0, 2]
    assert found.error.item() == pytest.approx(9 / 22, rel=RELATIVE)
    floored = exact.best_subset(p, v, 2, floor=1.0, engine=engine)
    assert floored.indices.tolist() == [0, 1]
    assert floored.error.item() == pytest.approx(1 / 2, rel=RELATIVE)


@pytest.mark.parametrize("engine", exact.ENGINES)
@pytest.mark.parametrize(
    "integers, solvable",
    [([3, 1, 1, 2, 2, 1], True), ([5, 1, 1, 1, 1, 1], False), ([2, 4, 6, 8, 10, 14], True)],
)
def test_partition_gadget(engine, integers, solvable):
    """Lemma A.5: E = 0 exactly if half of the integers has half of the sum."""
    n = len(integers)
    half = [sum(c) * 2 == sum(integers) for c in itertools.combinations(integers, n // 2)]
    assert any(half) == solvable
    v = np.array(integers, float)[:, None]
    found = exact.best_subset(np.full(n, 1 / n), v, n // 2, engine=engine)
    assert (found.error.item() < 1e-12) == solvable
    if solvable:
        first = next(
            c for c, ok in zip(itertools.combinations(range(n), n // 2), half) if ok
        )
        assert found.indices.tolist() == list(first)


@pytest.mark.parametrize("engine", exact.ENGINES)
def test_ties_take_the_smallest_index_set(engine):
    rng = np.random.default_rng(4)
    # Equal weights and equal values: every subset is as good.
    p, v = np.full(12, 1 / 12), np.tile(rng.standard_normal(5), (12, 1))
    assert exact.best_subset(p, v, 4, engine=engine).indices.tolist() == [0, 1, 2, 3]
    # Each key twice, weights and values alike.
    p, v = real_like_row(rng, 6, 4, 1.0)
    p, v = np.tile(p, 2) / 2, np.tile(v, (2, 1))
    least, _ = brute_force(p, v, 5, range(12), None, None)
    subsets = np.array(list(itertools.combinations(range(12), 5)))
    gamma = p[:, None] * (v - p @ v)
    errors = np.linalg.norm(gamma[subsets].sum(1), axis=1) / p[subsets].sum(1)
    first = subsets[np.flatnonzero(errors <= least * (1 + 1e-10))[0]]
    assert exact.best_subset(p, v, 5, engine=engine).indices.tolist() == first.tolist()


@pytest.mark.parametrize("engine", exact.ENGINES)
def test_edges(engine):
    rng = np.random.default_rng(5)
    one = exact.best_subset([1.0], [[2.0, 3.0]], 3, engine=engine)
    assert one.indices.tolist() == [0] and one.error.item() == 0 and one.mass.item() == 1
    p, v = real_like_row(rng, 10, 3, 1.0)
    everything = exact.best_subset(p, v, 12, engine=engine)
    assert everything.indices.tolist() == list(range(10))
    assert everything.error.item() < 1e-15
    # Keys without weight can fill a set but never be one.
    p[3:] = 0
    p /= p.sum()
    found = exact.best_subset(p, v, 2, engine=engine)
    pairs = [c for c in itertools.combinations(range(10), 2) if p[list(c)].sum() > 0]
    errors = [np.linalg.norm(p @ v - p[list(c)] @ v[list(c)] / p[list(c)].sum()) for c in pairs]
    assert found.error.item() == pytest.approx(min(errors), rel=RELATIVE)
    # Weights over twelve decades: light keys are as exact as heavy ones.
    p = 10.0 ** -np.arange(12)
    p, v = p / p.sum(), rng.standard_normal((12, 4))
    least, members = brute_force(p, v, 3, range(12), None, None)
    assert exact.best_subset(p, v, 3, engine=engine).error.item() == pytest.approx(least, rel=1e-9)


def test_a_batch_is_its_rows():
    rng = np.random.default_rng(6)
    rows = [real_like_row(rng, 30, 5, 1.0) for _ in range(4)]
    p, v = (np.stack(x).reshape(2, 2, *x[0].shape) for x in zip(*rows))
    pool = exact.published_pool(p, v, 4, extras=6)
    found = exact.best_subset(p, v, 4, pool)
    assert found.indices.shape == (2, 2, 4) and found.error.shape == (2, 2)
    for i, j in np.ndindex(2, 2):
        alone = exact.best_subset(p[i, j], v[i, j], 4, pool[i, j])
        assert alone.indices.tolist() == found.indices[i, j].tolist()
        assert alone.error == found.error[i, j] and alone.mass == found.mass[i, j]


def test_only_the_gram_of_the_projection_matters():
    rng = np.random.default_rng(7)
    p, v = real_like_row(rng, 20, 5, 1.0)
    w = rng.standard_normal((50, 5))
    turned = np.linalg.qr(rng.standard_normal((50, 50)))[0] @ w
    one, other = (exact.best_subset(p, v, 4, through=x) for x in (w, turned))
    assert one.indices.tolist() == other.indices.tolist()
    assert one.error.item() == pytest.approx(other.error.item(), rel=1e-9)


@pytest.mark.parametrize(
    "argument, change",
    [
        ("size", {"size": 0}),
        ("size", {"size": 2.5}),
        ("engine", {"engine": "magic"}),
        ("floor", {"floor": 1.5}),
        ("floor", {"floor": -0.1}),
        ("pool", {"pool": [0, 0, 1]}),
        ("pool", {"pool": [0, 99]}),
        ("pool", {"pool": []}),
        ("pool", {"pool": [0.5, 1.0]}),
        ("pool", {"pool": [8, 9], "size": 1, "floor": 1.0}),  # keeps too little
        ("pool", {"pool": list(range(40)), "engine": "products"}),
        ("through", {"through": torch.ones(3, 4)}),
        ("v", {"v": torch.ones(2, 40, 3)}),
        ("p", {"p": -torch.ones(40)}),
    ],
)
def test_wrong_arguments_are_named(argument, change):
    p = torch.arange(40, 0, -1, dtype=torch.float64)
    call = {"p": p / p.sum(), "v": torch.ones(40, 3).cumsum(0), "size": 3} | change
    with pytest.raises(ValueError, match=f"^{argument}:"):
        exact.best_subset(**call)


def test_pools_of_other_sizes_and_short_rows():
    p, v = real_like_row(np.random.default_rng(8), 30, 4, 1.0)
    assert exact.published_pool(p, v, 5, extras=3).shape == (8,)
    assert sorted(exact.published_pool(p, v, 32).tolist()) == list(range(30))
    for size, extras in [(0, None), (3, -1)]:
        with pytest.raises(ValueError, match="size: 0|extras: -1"):
            exact.published_pool(p, v, size, extras)


def test_rows_whose_errors_are_near_rounding_end():
    """Two keys hold all but 1e-3 of the mass; swaps see differences of rounding only."""
    rng = np.random.default_rng(9)
    for spread in (10.0, 14.0, 20.0):
        logits = -spread * np.sort(rng.random(60)) * 3
        p = np.exp(logits - logits.max())
        v = rng.standard_normal((60, 16))
        pool = exact.published_pool(p / p.sum(), v, 8)
        found = exact.best_subset(p / p.sum(), v, 8, pool=pool)
        peer = exact.best_subset(p / p.sum(), v, 8, pool=pool, engine="products")
        zero = 16 * np.finfo(float).eps * np.linalg.norm(v, axis=1).max()
        assert found.error.item() == pytest.approx(peer.error.item(), rel=1e-9, abs=zero)

