"""Every subset of a small pool, as products of half subsets.

Split n keys into a left and a right half and write F(A) = ||sum_A Gamma||^2 -
lam^2 p(A)^2 = x' H x with H = Gamma Gamma' - lam^2 p p'. With x = (l, r),

    F = l' H_LL l + r' H_RR r + 2 l' H_LR r :

one row [2 l' H_LR, l' H_LL l, 1] per left half times one column [r, 1, r' H_RR r]
per right half. Halves with i and s - i keys meet in one matrix product with an
inner dimension of n/2 + 2, whatever D is, and the least F decides: none below
zero means that no subset beats lam (Dinkelbach 1967); else the subset found
gives the next, smaller lam.
"""

import math

import numpy as np
import torch

LARGEST_POOL = 36
BLOCK = 1 << 17  # products at a time: 1 MiB, what a core's own cache holds


def half_subsets(n):
    """All subsets of n keys as 0/1 rows, grouped by size: a list of (codes, rows)."""
    codes = np.arange(1 << n, dtype=np.int64)
    bits = (codes[:, None] >> np.arange(n)) & 1
    sizes = bits.sum(1)
    groups = [np.flatnonzero(sizes == size) for size in range(n + 1)]
    return [(codes[g], bits[g].astype(np.float64)) for g in groups]


def best_by_products(gamma, p, size, floor, start, tie, noise):
    """Members [s] of the best subset, ties by smallest index set, and its error.

    gamma: [n, D] deviations scaled to length <= 1; p: [n]; start: the error of
    any feasible subset. Cost about C(n, s) (n/2 + 2) multiply-adds per pass, one
    or two passes; memory 2**(n/2) (n/2 + 2) float64.
    """
    gram = gamma @ gamma.T
    level = start
    while True:
        found, codes = _pass(gram, p, size, floor, max(level, noise) * (1 + tie))
        if len(codes) == 0:  # rounding: start itself was on the edge
            level = max(level, noise) * (1 + 1e-6)
            continue
        members = _members(codes, size)
        errors = direct_errors(gamma, p, members)
        least = errors.min()
        if found < 0 and least < level * (1 - tie):
            level = least
            continue
        tied = errors <= max(least * (1 + tie), noise)
        return min(map(tuple, members[tied].tolist())), least


def direct_errors(gamma, p, members):
    """||sum of gamma|| / p(A) of many sets [k, s], without the Gram matrix."""
    total = np.zeros((len(members), gamma.shape[1]))
    for column in members.T:
        total += gamma[column]
    mass = p[members].sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mass > 0, np.linalg.norm(total, axis=1) / mass, np.inf)


def _pass(gram, p, size, floor, lam):
    """(least F, codes of the subsets with F below the rounding error of F)."""
    n = len(p)
    half = n // 2
    h = gram - lam * lam * np.outer(p, p)
    weight = np.sqrt(np.diag(gram)) + lam * p
    rounding = 64 * np.finfo(float).eps
    left, right = half_subsets(half), half_subsets(n - half)
    least, codes = math.inf, []
    for i in range(max(0, size - (n - half)), min(half, size) + 1):
        left_codes, a = left[i]
        right_codes, b = right[size - i]
        rows, columns = _factors(h, half, a, b)
        step = max(1, BLOCK // len(b))
        product = torch.empty(step, len(b), dtype=torch.float64)
        for at in range(0, len(a), step):
            block = rows[at : at + step]
            f = torch.mm(block, columns, out=product[: len(block)]).numpy()
            if floor > 0:
                mass = (a[at : at + step] @ p[:half])[:, None] + b @ p[half:]
                f[mass < floor] = math.inf
            lowest = f.min()
            least = min(least, lowest)
            if lowest <= rounding * weight.sum() ** 2:
                i_at, j_at = np.nonzero(f <= rounding * weight.sum() ** 2)
                total = a[at + i_at] @ weight[:half] + b[j_at] @ weight[half:]
                near = f[i_at, j_at] <= rounding * total**2
                i_at, j_at = i_at[near], j_at[near]
                codes.append(left_codes[at + i_at] | (right_codes[j_at] << half))
    return least, np.concatenate(codes) if codes else np.zeros(0, np.int64)


def _factors(h, half, a, b):
    """The rows and columns whose product is F for all pairs of half subsets."""
    ones_a, ones_b = np.ones((len(a), 1)), np.ones((1, len(b)))
    inner_a = np.einsum("ki,ij,kj->k", a, h[:half, :half], a, optimize=True)
    inner_b = np.einsum("ki,ij,kj->k", b, h[half:, half:], b, optimize=True)
    rows = np.hstack([2 * a @ h[:half, half:], inner_a[:, None], ones_a])
    columns = np.vstack([b.T, ones_b, inner_b[None]])
    return torch.from_numpy(rows), torch.from_numpy(columns)


def _members(codes, size):
    """Codes of subsets as sorted member lists [k, size]."""
    bits = (codes[:, None] >> np.arange(LARGEST_POOL)) & 1
    return np.nonzero(bits)[1].reshape(len(codes), size)
