"""Deviations: the error of any kept set out of one pass over the row."""

import torch


def deviations(p, v):
    """Return how far each key pulls the output away from its mean.

        Gamma_j = p_j (v_j - mu),   mu = sum_j p_j v_j

    p: [S] float64, weights of one row, positive, summing to 1; v: [S, D] float64.
    Returns [S, D] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # Over all keys these sum to mu - mu = 0. Whatever the kept ones sum to, the
    # evicted ones sum to the opposite.
    return p[:, None] * (v - p @ v)
    # END SOLUTION


def errors(p, gamma_sd, kept_ns):
    """Return the forced errors of N kept sets from the deviations alone.

        e_s(A) = ||sum_{j in A} Gamma_j|| / p(A)

    No value is read and no output is computed: gamma_sd and p are enough. The
    [N, S, D] tensor of all kept deviations must not be built.

    p: [S] float64; gamma_sd: [S, D] float64, from `deviations`
    kept_ns: [N, S] bool, at least one key kept in each set

    Returns [N] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # sum_A Gamma_j = sum_A p_j v_j - p(A) mu = p(A) (m_A - mu). Dividing by p(A)
    # gives the error. A matrix product does the sums: the mask, as numbers, has
    # a row for each set, so this is [N, S] times [S, D].
    weights_ns = kept_ns.to(gamma_sd.dtype)
    return (weights_ns @ gamma_sd).norm(dim=-1) / (weights_ns @ p)
    # END SOLUTION


def phi(p, v, size):
    """Return Phi, the length of the summed deviations of the top-mass set.

        Phi = ||sum_{j in A*} Gamma_j|| = p(A*) e_s(A*)

    A* holds the ``size`` largest weights; of equal weights the one with the
    smaller index comes first. One pass over the row, no search: and on real
    rows Phi ranks how large the best possible error is.

    p: [S] float64; v: [S, D] float64; size: int, 1 <= size <= S
    Returns a float64 tensor of shape []. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # Neither topk nor a plain sort promises an order among equal weights; a
    # stable sort does. And no division by p(A*): that is what sets Phi, an
    # estimate for the row, apart from the error of one set.
    top = p.argsort(descending=True, stable=True)[:size]
    return deviations(p, v)[top].sum(0).norm()
    # END SOLUTION
