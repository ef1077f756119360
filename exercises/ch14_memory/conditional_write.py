"""One more eviction goes into a memory that keeps its mass."""

import torch


def write(state, keys_sd, values_se, score_s, kept_s, gamma):
    """Return the memory of one head after an eviction: (moments, mass).

    pi is the softmax of the scores over all candidates. A key with the score +inf is no
    candidate; it always stays. The evicted keys have the mass mu = sum pi_i and the
    weights w_i = pi_i / mu, and

        mass' = gamma mass + mu
        moments' = (gamma mass moments + mu sum w_i k_i v_i') / mass'

    state: (moments [D, E] float64, mass float) after earlier evictions, None before any
    keys_sd: [S, D] float64; values_se: [S, E] float64; score_s: [S] float64
    kept_s: [S] bool, at least one candidate is evicted; gamma: float in [0, 1]

    Returns ([D, E] float64, float). The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/conditional_write is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/conditional_write.py, "
        "then run: kvteach grade ch14/conditional_write"
    )


def counts(masses, gamma):
    """Return what each eviction counts in the memory after the last one.

    masses: list of T floats > 0, mu of each eviction in order; gamma: float in (0, 1]
    Returns [T] float64, summing to 1.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/conditional_write is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/conditional_write.py, "
        "then run: kvteach grade ch14/conditional_write"
    )
