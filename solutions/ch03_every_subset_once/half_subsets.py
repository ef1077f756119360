"""Half subsets: every subset of a pool looked at, by matrix products."""

import itertools

import torch


def group(n, k):
    """Return all subsets of k out of n keys as rows of zeros and ones.

    Returns [C(n, k), n] float64, one row for each subset, in any order; k may be
    0 (one row of zeros) or n (one row of ones).
    """
    # BEGIN SOLUTION
    subsets = list(itertools.combinations(range(n), k))
    rows = torch.zeros(len(subsets), n, dtype=torch.float64)
    for row, subset in zip(rows, subsets):
        row[list(subset)] = 1.0
    return rows
    # END SOLUTION


def rows_and_columns(H, left, right):
    """Return two matrices whose product has x' H x for every pair of halves.

    With x = (l, r), a row l of ``left`` followed by a row r of ``right``,

        x' H x = l' H_LL l + r' H_RR r + (2 l' H_LR) r,

    and (rows @ columns.T)[i, j] is that number for row i of ``left`` and row j
    of ``right``.

    H: [n, n] float64, symmetric; left: [N, a] and right: [M, b] float64, a + b = n

    Returns (rows, columns), [N, width] and [M, width] float64, with a width of
    at most b + 2. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    a = left.shape[1]
    left_alone = ((left @ H[:a, :a]) * left).sum(1, keepdim=True)
    right_alone = ((right @ H[a:, a:]) * right).sum(1, keepdim=True)
    # A number that depends on the row alone becomes a column of the left
    # matrix, met by ones in the right one, and the other way round.
    rows = [2 * left @ H[:a, a:], left_alone, torch.ones_like(left_alone)]
    columns = [right, torch.ones_like(right_alone), right_alone]
    return torch.cat(rows, 1), torch.cat(columns, 1)
    # END SOLUTION


def lowest(H, size):
    """Return the least x' H x over all subsets of ``size`` keys, and the subset.

    The left half has the first n // 2 keys. Only halves whose sizes add up to
    ``size`` are paired.

    H: [n, n] float64, symmetric; it may have eigenvalues of both signs
    size: int, 1 <= size <= n

    Returns (value, indices), a float and a tuple of ints in increasing order.
    The arguments stay as they are. 2.7 million subsets, 12 of 24 keys, take
    about a hundredth of a second; you have 4.
    """
    # BEGIN SOLUTION
    n = len(H)
    a, b = n // 2, n - n // 2
    least, best = float("inf"), None
    # k keys on the left need size - k on the right, and neither half has more
    # keys than it has: k runs from size - b, or 0, to a, or size.
    for k in range(max(0, size - b), min(a, size) + 1):
        left, right = group(a, k), group(b, size - k)
        rows, columns = rows_and_columns(H, left, right)
        products = rows @ columns.T
        i, j = divmod(int(products.argmin()), len(right))
        if products[i, j] < least:
            least = products[i, j].item()
            best = torch.cat([left[i], right[j]]).nonzero().flatten()
    return least, tuple(best.tolist())
    # END SOLUTION
