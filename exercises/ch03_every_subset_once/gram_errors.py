"""Errors of many sets from one small matrix: the values are needed only once."""

import torch


def gram(p, v, through=None):
    """Return the inner products of the deviations of a row.

        G[i, j] = <Gamma_i, Gamma_j>,   Gamma_j = p_j (v_j - mu)

    With ``through``, a matrix W, the error is measured behind it, as the length
    of W (mu - m_A), and the deviations are W Gamma_j.

    p: [S] float64, positive, summing to 1; v: [S, D] float64
    through: [E, D] float64, or None for the head's output itself

    Returns [S, S] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch03/gram_errors is not solved yet: read chapter 03, "
        "edit exercises/ch03_every_subset_once/gram_errors.py, "
        "then run: kvteach grade ch03/gram_errors"
    )


def gram_errors(G, p, kept_ns):
    """Return the forced errors of N kept sets from the Gram matrix.

        e_s(A)^2 = x' G x / (p' x)^2,   x = the 0/1 vector of A

    Rounding can leave x' G x a little below 0 where the error is 0; the error
    is 0 then. Neither an [N, N] matrix nor an [N, S, D] tensor must be built.

    G: [S, S] float64, from `gram`; p: [S] float64
    kept_ns: [N, S] bool, at least one key kept in each set

    Returns [N] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch03/gram_errors is not solved yet: read chapter 03, "
        "edit exercises/ch03_every_subset_once/gram_errors.py, "
        "then run: kvteach grade ch03/gram_errors"
    )
