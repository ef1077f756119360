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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch02/missing_statistic is not solved yet: read chapter 02, "
        "edit exercises/ch02_dropping_a_key/missing_statistic.py, "
        "then run: kvteach grade ch02/missing_statistic"
    )


def restore(forced, u, m):
    """Return the dense output mu from the forced output and the statistic.

    forced: [..., D] float64, the forced output m_A
    u:      [..., D] float64 and m: [...] float64, as `missing_statistic` has them

    Returns [..., D] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch02/missing_statistic is not solved yet: read chapter 02, "
        "edit exercises/ch02_dropping_a_key/missing_statistic.py, "
        "then run: kvteach grade ch02/missing_statistic"
    )
