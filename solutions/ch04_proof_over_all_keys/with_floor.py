"""The best set under a mass floor: a small error of little mass is no success."""

import itertools

import torch


def with_floor(p, v, size, floor):
    """Return the kept set with the least error among those that keep enough mass.

    Of all sets A of ``size`` keys with

        p(A) >= floor * p(A*),

    A* being the set of the ``size`` largest weights, return the one that
    minimises e_s(A) = ||mu - m_A||. Rounding must not exclude a set that is on
    the floor exactly: masses within 1e-12 below it count as reaching it.

    p: [S] float64, positive, summing to 1; v: [S, D] float64
    size: int, 1 <= size <= S; floor: float, 0 <= floor <= 1

    Returns (indices, error): a tuple of ints in increasing order and a float.
    Errors within 1e-12 of each other are a tie; among tied sets the one that
    comes first in the order of itertools.combinations is returned. Raises
    ValueError, with the word "floor" in the message, for a floor outside 0 .. 1.
    The arguments stay as they are.
    """
    # BEGIN SOLUTION
    if not 0 <= floor <= 1:
        raise ValueError(f"floor: {floor} is outside 0 .. 1")
    # The floor is a share of what a set of this size can keep, not of 1: so at
    # least the top-mass set always passes, whatever the size.
    least_mass = floor * p.sort(descending=True).values[:size].sum() - 1e-12
    gamma = p[:, None] * (v - p @ v)
    best, best_error = None, float("inf")
    for subset in itertools.combinations(range(len(p)), size):
        chosen = list(subset)
        mass = p[chosen].sum()
        # Many light keys may average to mu by chance: their error is tiny, and
        # their weights, once renormalised, are a thousand times what they were.
        if mass < least_mass:
            continue
        error = (gamma[chosen].sum(0).norm() / mass).item()
        if error < best_error - 1e-12:
            best, best_error = subset, error
    return best, best_error
    # END SOLUTION
