"""Every subset of a small pool, as products of half subsets.

Split n keys into a left and a right half and write F(A) = ||sum_A Gamma||^2 -
lam^2 p(A)^2 = x' H x with H = Gamma Gamma' - lam^2 p p'. With x = (l, r),

    F = l' H_LL l + r' H_RR r + 2 l' H_LR r :

one row [2 l' H_LR, l' H_LL l, 1] per left half times one column [r, 1, r' H_RR r]
per right half. Halves with i and s - i keys meet in one matrix product with an
inner dimension of n/2 + 2, whatever D is, and the least F decides: none below
zero means that no subset beats lam (Dinkelbach 1967); else the subset found
gives the next, smaller lam.

The products run in float32; every subset whose F could be below zero, given
float32's rounding, is measured again in float64 from the deviations themselves.
Where those are too many, the pass is repeated in float64.
"""

import functools
import math

import numpy as np
import torch

LARGEST_POOL = 36
BLOCK = 1 << 17  # products at a time: they stay in a core's own cache
MANY = 20_000  # subsets to measure again after a float32 pass, at most


@functools.lru_cache(maxsize=8)
def half_subsets(n):
    """All subsets of n keys as 0/1 rows, grouped by size: a list of (codes, rows)."""
    codes = np.arange(1 << n, dtype=np.int64)
    bits = (codes[:, None] >> np.arange(n)) & 1
    sizes = bits.sum(1)
    groups = [np.flatnonzero(sizes == size) for size in range(n + 1)]
    return [(codes[g], bits[g].astype(np.float64)) for g in groups]


def best_by_products(gamma, p, size, floor, first, tie, noise):
    """Members (a tuple) of the best subset, ties by smallest index set.

    gamma: [n, D] deviations scaled to length <= 1; p: [n]; first: members of any
    feasible subset. Cost about C(n, s) (n/2 + 2) multiply-adds per pass, mostly
    one pass; memory 2**(n/2) (n/2 + 2) float64.
    """
    gram = gamma @ gamma.T
    level = direct_errors(gamma, p, swapped(gram, p, first, floor)[None])[0]
    while True:
        lam = max(level * (1 + tie), noise)
        codes = _pass(gram, p, size, floor, lam, torch.float32)
        if codes is None:
            codes = _pass(gram, p, size, floor, lam, torch.float64)
        members = _members(codes, size)
        errors = direct_errors(gamma, p, members)
        least = errors.min()
        if least >= level * (1 - tie) or least <= noise:
            tied = errors <= max(least * (1 + tie), noise)
            return min(map(tuple, members[tied].tolist()))
        level = least


def direct_errors(gamma, p, members):
    """||sum of gamma|| / p(A) of many sets [k, s], without the Gram matrix."""
    errors = np.empty(len(members))
    for at in range(0, len(members), MANY):
        part = members[at : at + MANY]
        total = gamma[part[:, 0]]
        for column in part.T[1:]:
            total = total + gamma[column]
        mass = p[part].sum(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.linalg.norm(total, axis=1)
            errors[at : at + MANY] = np.where(mass > 0, length / mass, math.inf)
    return errors


def swapped(gram, p, members, floor):
    """A good start: the best one-for-one swap in Gram form, until none helps."""
    inside = np.zeros(len(p), bool)
    inside[members] = True
    best = math.inf
    while True:
        a, b = np.flatnonzero(inside), np.flatnonzero(~inside)
        pull = gram[a].sum(0)
        swap = np.diag(gram)[a] - 2 * pull[a], np.diag(gram)[b] + 2 * pull[b]
        square = pull[a].sum() + np.add.outer(*swap) - 2 * gram[np.ix_(a, b)]
        mass = p[a].sum() + np.add.outer(-p[a], p[b])
        good = (mass > 0) & (mass >= floor)
        square = np.where(good, np.maximum(square, 0), math.inf)
        ratio = square / np.where(good, mass, 1) ** 2
        i, j = np.unravel_index(ratio.argmin(), ratio.shape)
        now = max(pull[a].sum(), 0.0) / p[a].sum() ** 2
        if not ratio[i, j] < min(now, best) * (1 - 1e-9):
            return a
        best = ratio[i, j]
        inside[a[i]], inside[b[j]] = False, True


def _pass(gram, p, size, floor, lam, dtype):
    """Codes of the subsets whose F may be zero or less; None if they are too many."""
    n = len(p)
    half = n // 2
    h = gram - lam * lam * np.outer(p, p)
    # |F| is computed to rounding * (sum over A of what each key adds at most)^2
    reach = np.sqrt(np.diag(gram)) + lam * p
    rounding = (half + 8) * torch.finfo(dtype).eps
    left, right = half_subsets(half), half_subsets(n - half)
    found = [np.zeros(0, np.int64)]
    for i in range(max(0, size - (n - half)), min(half, size) + 1):
        left_codes, a = left[i]
        right_codes, b = right[size - i]
        rows, columns = _factors(h, half, a, b, dtype)
        reach_a, reach_b = a @ reach[:half], b @ reach[half:]
        mass_a, mass_b = a @ p[:half], b @ p[half:]
        step = max(1, BLOCK // len(b))
        product = torch.empty(step, len(b), dtype=dtype)
        for at in range(0, len(a), step):
            block = slice(at, at + step)
            f = torch.mm(rows[block], columns, out=product[: len(rows[block])]).numpy()
            edge = rounding * (reach_a[block].max() + reach_b.max()) ** 2
            if f.min() > edge:
                continue
            k, m = np.nonzero(f <= edge)
            near = f[k, m] <= rounding * (reach_a[at + k] + reach_b[m]) ** 2
            near &= mass_a[at + k] + mass_b[m] >= floor
            found.append(left_codes[at + k[near]] | (right_codes[m[near]] << half))
            if dtype == torch.float32 and sum(map(len, found)) > MANY:
                return None
    return np.concatenate(found)


def _factors(h, half, a, b, dtype):
    """The rows and columns whose product is F for all pairs of half subsets."""
    inner_a = ((a @ h[:half, :half]) * a).sum(1, keepdims=True)
    inner_b = ((b @ h[half:, half:]) * b).sum(1, keepdims=True)
    rows = np.hstack([2 * a @ h[:half, half:], inner_a, np.ones_like(inner_a)])
    columns = np.hstack([b, np.ones_like(inner_b), inner_b])
    return torch.from_numpy(rows).to(dtype), torch.from_numpy(columns).to(dtype).T


def _members(codes, size):
    """Codes of subsets as sorted member lists [k, size]."""
    bits = (codes[:, None] >> np.arange(LARGEST_POOL)) & 1
    return np.nonzero(bits)[1].reshape(len(codes), size)
