"""Frank-Wolfe: find the direction along which the bound is best."""

import math

import torch


def oracle(gamma, p, w, level, size):
    """Return the set that the bound along w is made of, and the bound.

    The set has the ``size`` keys with the smallest <w, Gamma_j> - level p_j, of
    equal ones those with the smaller index; the bound is the sum of these.

    gamma: [S, D] float64; p: [S] float64; w: [D] float64, ||w|| <= 1
    level: float, at least 0; size: int, 1 <= size <= S

    Returns (indices, bound): a tuple of ints in increasing order and a float.
    The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch04/frank_wolfe_step is not solved yet: read chapter 04, "
        "edit exercises/ch04_proof_over_all_keys/frank_wolfe_step.py, "
        "then run: kvteach grade ch04/frank_wolfe_step"
    )


def step_length(y, mass, target, target_mass, level):
    """Return the t in 0 .. 1 at which the way to the target is lowest.

        f(t) = ||y + t (target - y)|| - level (mass + t (target_mass - mass))

    f is convex. Where several t are lowest, any of them will do.

    y, target: [D] float64; mass, target_mass: floats; level: float, at least 0

    Returns a float, exact up to rounding of f. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch04/frank_wolfe_step is not solved yet: read chapter 04, "
        "edit exercises/ch04_proof_over_all_keys/frank_wolfe_step.py, "
        "then run: kvteach grade ch04/frank_wolfe_step"
    )


def frank_wolfe_step(gamma, p, level, size, y, mass):
    """Return the bound in the direction of y, and a better y.

    The point (y, mass) is a mixture of sets: y a convex combination of their
    sums of Gamma_j, mass the same combination of their masses. The direction is
    w = y / ||y||, or 0 where y is 0. `oracle` gives the bound along w and the
    set that it is made of; the point moves towards the sum and the mass of that
    set, by `step_length`.

    For every mixture ||y|| - level mass is at least as large as the bound of
    every w, and step by step the two approach each other.

    gamma: [S, D] float64; p: [S] float64; level: float, >= 0; size: int
    y: [D] float64; mass: float

    Returns (bound, y, mass): a float, [D] float64 and a float. The arguments
    stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch04/frank_wolfe_step is not solved yet: read chapter 04, "
        "edit exercises/ch04_proof_over_all_keys/frank_wolfe_step.py, "
        "then run: kvteach grade ch04/frank_wolfe_step"
    )
