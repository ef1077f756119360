"""The forced output: what a head returns once keys are gone."""

import torch


def forced_output(p, v, kept):
    """Return the mean of the kept values under renormalised weights.

    Attention over fewer keys is still a softmax: the weights that stay are
    forced to sum to 1 again. With the kept set A and p(A) = sum_{j in A} p_j,

        m_A = sum_{j in A} p_j v_j / p(A)

    p:    [..., S] float64, weights of one row each, summing to 1
    v:    [..., S, D] float64, the values of the row's keys
    kept: [..., S] bool, True for the keys that stay; each row has its own

    Returns [..., D] float64. Raises ValueError, with the word "kept" in the
    message, when any row keeps no mass at all: there is nothing to renormalise.
    The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # A dropped key has weight 0, so multiplying by the mask does the selection
    # for every row at once, whatever the number of keys each of them keeps.
    kept_p = p * kept

    # p(A), with a last axis of length 1 so that it divides every weight of its
    # own row. No epsilon: a mass of 1e-12 is a legitimate mass, and adding 1e-8
    # to it would shrink the output ten-thousandfold. An empty set is an error.
    mass = kept_p.sum(-1, keepdim=True)
    if (mass <= 0).any():
        raise ValueError("kept: a row keeps no mass, nothing to renormalise")

    # The weights of the smaller softmax, then the mean of the values under them.
    return torch.einsum("...s,...sd->...d", kept_p / mass, v)
    # END SOLUTION
