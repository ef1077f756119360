"""The missing statistic: what a row needs back from its evicted keys."""

import torch


def missing_statistic(p, v, kept):
    """Return the vector and the scalar that the evicted keys leave behind.

    With E the complement of the kept set A,

        u = sum_{j in E} p_j v_j        [..., D]
        m = sum_{j in E} p_j            [...]

    However many keys E has, D + 1 numbers stand for all of them. They add up:
    the statistic of two disjoint evicted sets is the sum of theirs.

    p:    [..., S] float64, weights of one row each, summing to 1
    v:    [..., S, D] float64, the values of the row's keys
    kept: [..., S] bool, True for the keys that stay

    Returns (u, m), both float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # No renormalisation here. Divided by m, u would be the centroid of E, and
    # centroids of different sets do not add; sums do. So a cache that evicts a
    # little at every step can keep one running u and one running m.
    evicted_p = p * ~kept
    return torch.einsum("...s,...sd->...d", evicted_p, v), evicted_p.sum(-1)
    # END SOLUTION


def restore(forced, u, m):
    """Return the dense output mu from the forced output and the statistic.

    forced: [..., D] float64, the forced output m_A
    u:      [..., D] float64 and m: [...] float64, as `missing_statistic` has them

    Returns [..., D] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # m_A is the sum over A divided by p(A) = 1 - m: the forced weights are too
    # large by that factor. Undo it, then add what is missing. The vector alone
    # is not enough: m_A + u counts the kept keys with weights that sum to 1.
    return (1 - m)[..., None] * forced + u
    # END SOLUTION
