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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch04/with_floor is not solved yet: read chapter 04, "
        "edit exercises/ch04_proof_over_all_keys/with_floor.py, "
        "then run: kvteach grade ch04/with_floor"
    )
