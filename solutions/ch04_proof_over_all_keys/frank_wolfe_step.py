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
    # BEGIN SOLUTION
    costs = gamma @ w - level * p
    chosen = costs.argsort(stable=True)[:size]
    return tuple(chosen.sort().values.tolist()), costs[chosen].sum().item()
    # END SOLUTION


def step_length(y, mass, target, target_mass, level):
    """Return the t in 0 .. 1 at which the way to the target is lowest.

        f(t) = ||y + t (target - y)|| - level (mass + t (target_mass - mass))

    f is convex. Where several t are lowest, any of them will do.

    y, target: [D] float64; mass, target_mass: floats; level: float, at least 0

    Returns a float, exact up to rounding of f. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    way = target - y
    b, c = (y @ way).item(), (way @ way).item()
    slope = level * (target_mass - mass)
    if c == 0:
        return 1.0 if slope > 0 else 0.0
    # With q(t) = ||y + t way||^2 = a + 2 b t + c t^2 the derivative of f is
    #     (b + c t) / sqrt(q(t)) - slope .
    # Put u = b + c t; then q = (u^2 + h) / c with h = a c - b^2 >= 0, and the
    # derivative is 0 where u sqrt(c) = slope sqrt(u^2 + h). As t grows, the left
    # side over the root tends to sqrt(c): a slope of that much is never reached,
    # and f falls all the way (or rises all the way if it is that negative).
    if abs(slope) >= math.sqrt(c):
        return 1.0 if slope > 0 else 0.0
    h = max(0.0, (y @ y).item() * c - b * b)
    u = slope * math.sqrt(h / (c - slope * slope))
    return min(1.0, max(0.0, (u - b) / c))
    # END SOLUTION


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
    # BEGIN SOLUTION
    length = y.norm()
    w = y / length if length > 0 else torch.zeros_like(y)
    indices, bound = oracle(gamma, p, w, level, size)
    target, target_mass = gamma[list(indices)].sum(0), p[list(indices)].sum().item()
    t = step_length(y, mass, target, target_mass, level)
    # y stays in the convex hull, so its direction is a compromise between all
    # sets met so far: the one along which the worst of them looks best.
    return bound, y + t * (target - y), mass + t * (target_mass - mass)
    # END SOLUTION
