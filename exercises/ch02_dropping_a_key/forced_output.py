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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch02/forced_output is not solved yet: read chapter 02, "
        "edit exercises/ch02_dropping_a_key/forced_output.py, "
        "then run: kvteach grade ch02/forced_output"
    )
