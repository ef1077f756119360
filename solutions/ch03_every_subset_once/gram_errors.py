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
    # BEGIN SOLUTION
    gamma = p[:, None] * (v - p @ v)
    # Linear maps pass through the sum over a set and through the division by
    # its mass, so a projection changes the Gram matrix and nothing else. In row
    # form W Gamma_j is Gamma @ W.T: E may be larger or smaller than D.
    if through is not None:
        gamma = gamma @ through.T
    return gamma @ gamma.T
    # END SOLUTION


def gram_errors(G, p, kept_ns):
    """Return the forced errors of N kept sets from the Gram matrix.

        e_s(A)^2 = x' G x / (p' x)^2,   x = the 0/1 vector of A

    Rounding can leave x' G x a little below 0 where the error is 0; the error
    is 0 then. Neither an [N, N] matrix nor an [N, S, D] tensor must be built.

    G: [S, S] float64, from `gram`; p: [S] float64
    kept_ns: [N, S] bool, at least one key kept in each set

    Returns [N] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    x = kept_ns.to(G.dtype)
    # diag(X G X') without the N^2 entries beside the diagonal: row n of X G,
    # times row n of X, summed. That is S^2 multiplications a set, whatever D is.
    square = ((x @ G) * x).sum(dim=1)
    # The quadratic form has an absolute error of about 1e-16 of its largest
    # term, so errors below 1e-8 of the scale are not to be trusted: a square
    # root halves the digits. What matters is computed again from Gamma itself.
    return square.clamp_min(0.0).sqrt() / (x @ p)
    # END SOLUTION
