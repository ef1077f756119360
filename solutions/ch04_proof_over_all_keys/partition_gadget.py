"""Why the problem is hard: a row whose best set solves a number puzzle."""

import itertools

import torch


def gadget(numbers):
    """Return a row whose best set of half its keys halves the numbers, if one can.

    The puzzle: can m integers, m even, be split into two halves of m / 2 numbers
    each with the same sum? Give every number a key with the weight 1 / m and the
    number as its value. Then for every set A of m / 2 keys, with W the sum of
    all numbers,

        e_s(A) = |2 sum_{j in A} w_j - W| / m ,

    which is 0 exactly if A is such a half.

    numbers: a list of m ints, m even and at least 2

    Returns (p, v, size): [m] float64, [m, 1] float64 and an int. Raises
    ValueError, with the word "numbers" in the message, for another length.
    """
    # BEGIN SOLUTION
    m = len(numbers)
    if m < 2 or m % 2:
        raise ValueError(f"numbers: {m} of them; need an even number, at least 2")
    p = torch.full((m,), 1 / m, dtype=torch.float64)
    v = torch.tensor(numbers, dtype=torch.float64)[:, None]
    # With equal weights mu = W / m and m_A is the plain mean of A, 2 sum_A / m.
    return p, v, m // 2
    # END SOLUTION


def is_half(error, numbers):
    """Return whether the least error of the gadget means that a half exists.

    error: float, the least error over all sets of m / 2 keys, computed in
    float64 and so never exactly right; numbers: the list given to `gadget`, with
    integers up to 2^44 in size

    Returns a bool.
    """
    # BEGIN SOLUTION
    # |2 sum_A w - W| is an integer: if it is not 0 it is at least 1. Between an
    # error of 0 and one of 1 / m there is nothing, so any threshold between the
    # two decides, and the middle one leaves the most room for rounding: 1e-4
    # for numbers of 2^44. This gap makes the hardness proof work.
    return error < 0.5 / len(numbers)
    # END SOLUTION


def split(numbers):
    """Return indices whose numbers make exactly half of the sum, or None.

    Here the two parts need not have equally many numbers, and any number of
    integers is allowed: zeros, which change no sum, fill up the smaller part. Of
    several answers any will do; the empty tuple answers for numbers that sum to
    0, for example.

    numbers: a list of n ints, n from 1 to 7

    Returns a tuple of ints in increasing order, indices into ``numbers``, or
    None where there is no such part. Uses the gadget and a search over its sets.
    """
    # BEGIN SOLUTION
    # A part may have anything from 0 to n of the n numbers; with n zeros beside
    # them it can be filled up to n of 2 n. So a solver for the best kept set
    # solves PARTITION, which is NP-complete: there is no fast exact method for
    # all rows unless P = NP. Real rows are not made by an adversary.
    n = len(numbers)
    padded = numbers + [0] * n
    p, v, size = gadget(padded)
    gamma = p * (v[:, 0] - p @ v[:, 0])
    sets = itertools.combinations(range(2 * n), size)
    best = min(sets, key=lambda A: abs(gamma[list(A)].sum()))
    error = abs(gamma[list(best)].sum() / p[list(best)].sum()).item()
    if not is_half(error, padded):
        return None
    return tuple(j for j in best if j < n)
    # END SOLUTION
