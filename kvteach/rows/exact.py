"""The exact best subset of one attention row.

With Gamma_j = p_j (v_j - mu) the forced error of a kept set A is

    e_s(A) = ||sum_{j in A} Gamma_j|| / p(A),

and `best_subset` minimises it over all subsets of a given size: a fractional
quadratic 0/1 program, NP-hard in general (arXiv 2608.25230, Lemma A.4). Two
engines that share nothing but Gamma solve it. "products" looks at every subset
once, as products of half subsets; "bounds" proves most of them worse unseen.
"""

from typing import NamedTuple

import numpy as np
import torch

from kvteach.rows.error import as_row
from kvteach.rows.pool import published_pool as published_pool

TIE = 1e-10
"""Errors that agree to this, relatively, tie; the smallest index set is reported."""

SLICE = 20_000_000  # work of the search between two chances to interrupt it
PATIENCE = 2  # bounding steps at open nodes: pools are small, nodes are cheap
ENGINES = ("bounds", "products")


class BestSubset(NamedTuple):
    """The minimiser of each row."""

    indices: torch.Tensor  # [..., s] int64, ascending
    error: torch.Tensor  # [...] its forced error, float64
    mass: torch.Tensor  # [...] the weight that it keeps


def best_subset(p, v, size, pool=None, through=None, floor=None, engine="bounds"):
    """The subset of ``size`` keys with the least forced error, for each row.

    p: [..., S] weights; v: [..., S, D] values. pool: [..., n] distinct key
    indices to choose from, all keys by default. through: [E, D] matrix, for
    example a head's slice of the output projection: lengths are measured after
    it. floor: keep at least floor times the mass of the row's top-mass set.
    A size of n or more keeps the whole pool.

    Returns `BestSubset`. The error is the least one to 1e-9, relatively, or to
    16 eps sqrt(D) max |v| where that is larger: mu is known no better, so smaller
    errors are zero, and sets that reach it tie.

    Cost: "products" about C(n, s) n multiply-adds, n <= 36; "bounds" n^2 D for
    the Gram matrix, then some ten nodes of O(n s) on typical rows of language
    models, exponentially many on flat ones (certify has a time limit).

    Raises ValueError for shapes that do not fit, indices out of range or twice,
    a floor outside 0 .. 1, and rows where no subset is allowed.
    """
    p, v = _as_weights_and_values(p, v)
    _require_size(size)
    if engine not in ENGINES:
        raise ValueError(f"engine: {engine!r} is unknown; need one of {ENGINES}")
    share = _as_floor(floor)
    batch, keys = p.shape[:-1], p.shape[-1]
    if v.shape[:-2] != batch:
        raise ValueError(f"v: batch {tuple(v.shape[:-2])}; p has {tuple(batch)}")
    pool = _as_pool(pool, batch, keys)
    root = _as_root(through, v.shape[-1])
    kept = min(size, pool.shape[-1])
    p, v = p.numpy().reshape(-1, keys), v.numpy().reshape(-1, keys, v.shape[-1])
    found = [
        _solve(*row, kept, size, root, share, engine)
        for row in zip(p, v, pool.reshape(len(p), -1))
    ]
    members, errors, masses = zip(*found) if found else ((), (), ())
    return BestSubset(
        torch.from_numpy(np.array(members, np.int64).reshape(*batch, kept)),
        torch.from_numpy(np.array(errors, float).reshape(batch)),
        torch.from_numpy(np.array(masses, float).reshape(batch)),
    )


def least_mass(p, size, share):
    """The mass that a floor asks for; a hair less, so that top-mass passes at 1."""
    top = np.sort(p)[-min(size, len(p)) :].sum()
    return share * top * (1 - 1e-12)


def _solve(p, v, pool, kept, size, root, share, engine):
    """One row: (sorted members, error, mass)."""
    gamma, noise = _pool_deviations(p, v, pool, root)
    weights, floor = p[pool], least_mass(p, size, share) if share else 0.0
    first = np.sort(np.argsort(-weights, kind="stable")[:kept])
    mass = weights[first].sum()
    if not mass > 0 or mass < floor:
        raise ValueError(
            f"pool: its {kept} heaviest keys keep a mass of {mass:.3g}; the row "
            f"needs more than 0 and at least {floor:.3g}"
        )
    members = first
    if kept < len(pool):
        longest = np.sqrt((gamma * gamma).sum(1).max())
        scale = max(longest, noise * weights.sum())
        scaled = np.ascontiguousarray(gamma / scale), weights / scale
        if engine == "bounds":
            members = _by_bounds(*scaled, kept, floor / scale, noise, first)
        else:
            members = _by_products(*scaled, kept, floor / scale, noise, first)
    error = np.linalg.norm(gamma[members].sum(0)) / weights[members].sum()
    return pool[members], error, weights[members].sum()


def _pool_deviations(p, v, pool, root):
    """Gamma of the pool's keys [n, D], and the error that counts as zero."""
    mu = p @ v
    if not np.isfinite(mu).all():  # 0 * inf is no number either
        raise ValueError("v: some values are not finite")
    gamma = p[pool, None] * (v[pool] - mu)
    longest = max(v.max(), -v.min()) * np.sqrt(v.shape[1])
    if root is not None:
        gamma, longest = gamma @ root.T, longest * np.linalg.norm(root, 2)
    return gamma, 16 * np.finfo(float).eps * longest


def _by_bounds(gamma, weights, size, floor, noise, first):
    from kvteach.rows import _search  # imports the compiler

    gram = gamma @ gamma.T
    square = gram.diagonal().copy()
    problem = _search.Problem(gram, square, weights, gamma, size, floor)
    state = np.zeros(1, _search.STATE).view(np.recarray)[0]
    state.fraction, state.noise, state.patience = 1 + TIE, noise, PATIENCE
    members = first.astype(np.int64)
    if not _search.best_set(problem, state, members, SLICE):
        # A hard row: go on in slices, between which Python can be interrupted.
        levels, scratch = _search.allocate(len(weights), size)
        _search.start(problem, state, levels, members)
        while state.level >= 0:
            _search.run(problem, state, levels, scratch, SLICE)
        members = levels.winner
    if state.tie:
        _search.smallest_tie(problem, state, members)
    return np.sort(members)


def _by_products(gamma, weights, size, floor, noise, first):
    from kvteach.rows import _products

    if len(weights) > _products.LARGEST_POOL:
        raise ValueError(
            f"pool: {len(weights)} keys are too many for engine 'products'; need "
            f"<= {_products.LARGEST_POOL}"
        )
    found = _products.best_by_products(gamma, weights, size, floor, first, TIE, noise)
    return np.array(found)


# --- arguments --------------------------------------------------------------


def _as_weights_and_values(p, v):
    """As `as_row`, but v is looked through where it is used: that takes longest."""
    p, _ = as_row(p)
    v = torch.as_tensor(v).to(torch.float64)
    if v.ndim < 2 or v.shape[-2] != p.shape[-1]:
        as_row(p, v)  # says what is wrong
    return p, v


def _require_size(size):
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise ValueError(f"size: {size!r} is no number of keys; need an integer >= 1")


def _as_floor(floor):
    """The floor as a share, 0.0 for none, or ValueError."""
    if floor is None:
        return 0.0
    if not 0 <= floor <= 1:
        raise ValueError(f"floor: {floor} is outside 0 .. 1, a share of the top mass")
    return float(floor)


def _as_pool(pool, batch, keys):
    """The pool sorted, [*batch, n] int64, or ValueError."""
    if pool is None:
        return np.broadcast_to(np.arange(keys), (*batch, keys))
    pool = torch.as_tensor(pool)
    if pool.ndim == 0 or pool.dtype.is_floating_point or pool.shape[-1] == 0:
        raise ValueError(
            f"pool: shape {tuple(pool.shape)}, {pool.dtype}; need indices [..., n]"
        )
    try:
        pool = np.sort(np.broadcast_to(pool.numpy(), (*batch, pool.shape[-1])), axis=-1)
    except ValueError:
        raise ValueError(
            f"pool: shape {tuple(pool.shape)} does not fit the rows {tuple(batch)}"
        ) from None
    if pool.size and not 0 <= pool.min() <= pool.max() < keys:
        raise ValueError(f"pool: {pool.min()} .. {pool.max()} leave 0 .. {keys - 1}")
    if (pool[..., 1:] == pool[..., :-1]).any():
        raise ValueError("pool: an index appears twice; need distinct keys")
    return pool.astype(np.int64)


def _as_root(through, width):
    """R with R'R = W'W, [<=D, D]: only the Gram matrix of a projection matters."""
    if through is None:
        return None
    through = torch.as_tensor(through).to(torch.float64).numpy()
    if through.ndim != 2 or through.shape[1] != width or not np.isfinite(through).all():
        raise ValueError(
            f"through: shape {through.shape}; need a finite matrix [E, {width}]"
        )
    return np.linalg.qr(through, mode="r") if through.shape[0] > width else through
