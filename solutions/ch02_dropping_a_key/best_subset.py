"""The best subset: the smallest error that any kept set of a size can have."""

import itertools

import torch


def best_subset(p, v, size):
    """Return the kept set of ``size`` keys with the smallest forced error.

    Tries every set A of that size and takes the one that minimises

        e_s(A) = ||mu - m_A||,   m_A = sum_{j in A} p_j v_j / p(A),

    with mu = sum_j p_j v_j. There are S! / (s! (S - s)!) sets, so this is for
    small rows: it is the truth that cheaper rules are compared with.

    p:    [S] float64, weights of one row, positive, summing to 1
    v:    [S, D] float64, the values of the row's keys
    size: int, 1 <= size <= S

    Returns (indices, error): a tuple of ints in increasing order, counted from
    0, and a float. Errors within 1e-12 of each other are a tie; among tied sets
    the one that comes first in the order of itertools.combinations is returned.
    Raises ValueError, with the word "size" in the message, for any other size.
    The arguments stay as they are.
    """
    # BEGIN SOLUTION
    length = p.shape[0]
    if not 1 <= size <= length:
        raise ValueError(f"size: {size} is outside 1 .. {length}")
    mu = p @ v
    best, best_error = None, float("inf")
    for subset in itertools.combinations(range(length), size):
        chosen = list(subset)
        # Renormalise inside the loop: each set has a mass of its own.
        m_A = p[chosen] @ v[chosen] / p[chosen].sum()
        error = (mu - m_A).norm().item()
        # combinations() counts up, so the first of several equal sets is the
        # one wanted; later ones must beat it by more than rounding can.
        if error < best_error - 1e-12:
            best, best_error = subset, error
    return best, best_error
    # END SOLUTION
