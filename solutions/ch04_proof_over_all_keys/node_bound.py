"""A bound that covers every set below a node of the search tree at once."""

import math

import torch


def node_bound(gamma, p, w, level, size, included=(), excluded=()):
    """Return a number that ||sum_A Gamma_j|| - level p(A) never falls below.

    A node stands for all sets A of ``size`` keys that hold every key of
    ``included`` and none of ``excluded``. A vector is at least as long as its
    component along any w with ||w|| <= 1, so for each of these sets

        ||sum_A Gamma_j|| - level p(A) >= sum_A (<w, Gamma_j> - level p_j) ,

    and the right side is least where the keys that A may choose are the ones
    with the smallest <w, Gamma_j> - level p_j. That least value is the bound. If
    it is not negative, no set below the node has an error below ``level``.

    gamma: [S, D] float64; p: [S] float64; w: [D] float64; level: float, >= 0
    size: int, 1 <= size <= S
    included, excluded: tuples of distinct ints, with no key in both

    Returns a float; math.inf where no set belongs to the node. Raises ValueError,
    with "w" in the message, where ||w|| > 1 + 1e-9. The arguments stay as they
    are.
    """
    # BEGIN SOLUTION
    if w.norm() > 1 + 1e-9:
        raise ValueError(f"w: its length is {w.norm():.6f}; need at most 1")
    costs = (gamma @ w - level * p).tolist()
    free = [c for j, c in enumerate(costs) if j not in {*included, *excluded}]
    choices = size - len(included)
    # Too many keys included already, or too few left: a minimum over no set.
    if not 0 <= choices <= len(free):
        return math.inf
    # Every set below the node pays for its included keys, however dear. For the
    # rest nothing couples the keys any more: w has made a sum over single keys
    # out of the length of a vector, and a sum is minimised by sorting.
    taken = sum(costs[j] for j in included)
    return float(taken + sum(sorted(free)[:choices]))
    # END SOLUTION
