"""The error in two factors: how much was dropped, and how different it was."""

import torch


def factorization(p, v, kept):
    """Return dropped mass, centroid gap and forced error of each row.

    With the kept set A, its complement E, and the means of their values under
    their own renormalised weights, m_A and m_E,

        dropped mass   p(E)          = sum_{j in E} p_j
        centroid gap   ||m_E - m_A||
        forced error   ||mu - m_A||  = dropped mass * centroid gap

    where mu = sum_j p_j v_j is the dense output. Where nothing is evicted there
    is no m_E; the gap is then 0 by definition, and so is the error.

    p:    [..., S] float64, weights of one row each, summing to 1
    v:    [..., S, D] float64, the values of the row's keys
    kept: [..., S] bool, True for the keys that stay, at least one in each row

    Returns (dropped_mass, centroid_gap, error), each a float64 tensor [...].
    The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch02/factorization is not solved yet: read chapter 02, "
        "edit exercises/ch02_dropping_a_key/factorization.py, "
        "then run: kvteach grade ch02/factorization"
    )
