"""Deviations: the error of any kept set out of one pass over the row."""

import torch


def deviations(p, v):
    """Return how far each key pulls the output away from its mean.

        Gamma_j = p_j (v_j - mu),   mu = sum_j p_j v_j

    p: [S] float64, weights of one row, positive, summing to 1; v: [S, D] float64.
    Returns [S, D] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch02/phi is not solved yet: read chapter 02, "
        "edit exercises/ch02_dropping_a_key/phi.py, "
        "then run: kvteach grade ch02/phi"
    )


def errors(p, gamma_sd, kept_ns):
    """Return the forced errors of N kept sets from the deviations alone.

        e_s(A) = ||sum_{j in A} Gamma_j|| / p(A)

    No value is read and no output is computed: gamma_sd and p are enough. The
    [N, S, D] tensor of all kept deviations must not be built.

    p: [S] float64; gamma_sd: [S, D] float64, from `deviations`
    kept_ns: [N, S] bool, at least one key kept in each set

    Returns [N] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch02/phi is not solved yet: read chapter 02, "
        "edit exercises/ch02_dropping_a_key/phi.py, "
        "then run: kvteach grade ch02/phi"
    )


def phi(p, v, size):
    """Return Phi, the length of the summed deviations of the top-mass set.

        Phi = ||sum_{j in A*} Gamma_j|| = p(A*) e_s(A*)

    A* holds the ``size`` largest weights; of equal weights the one with the
    smaller index comes first. One pass over the row, no search: and on real
    rows Phi ranks how large the best possible error is.

    p: [S] float64; v: [S, D] float64; size: int, 1 <= size <= S
    Returns a float64 tensor of shape []. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch02/phi is not solved yet: read chapter 02, "
        "edit exercises/ch02_dropping_a_key/phi.py, "
        "then run: kvteach grade ch02/phi"
    )
