"""Half subsets: every subset of a pool looked at, by matrix products."""

import itertools

import torch


def group(n, k):
    """Return all subsets of k out of n keys as rows of zeros and ones.

    Returns [C(n, k), n] float64, one row for each subset, in any order; k may be
    0 (one row of zeros) or n (one row of ones).
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch03/half_subsets is not solved yet: read chapter 03, "
        "edit exercises/ch03_every_subset_once/half_subsets.py, "
        "then run: kvteach grade ch03/half_subsets"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch03/half_subsets is not solved yet: read chapter 03, "
        "edit exercises/ch03_every_subset_once/half_subsets.py, "
        "then run: kvteach grade ch03/half_subsets"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch03/half_subsets is not solved yet: read chapter 03, "
        "edit exercises/ch03_every_subset_once/half_subsets.py, "
        "then run: kvteach grade ch03/half_subsets"
    )
