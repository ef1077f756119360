"""How large a memory and its answers can become."""

import torch


def bounds(keys_sd, values_se, phi_fd):
    """Return (largest write, largest answer), whatever the weights and the query.

    The memory is M = sum w_i phi(k_i) v_i' with weights w_i >= 0 that sum to 1. The first
    bound is on its Frobenius norm: the largest length of features times the largest
    length of values. The second is on the length of phi(q)' M / sqrt(phi(q)^2 . b),
    with b = sum w_i phi(k_i)^2: the root of F times the largest length of values.

    keys_sd: [S, D]; values_se: [S, E]; phi_fd: [F, D]; float64
    Returns (float, float).
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/memory_norms is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/memory_norms.py, "
        "then run: kvteach grade ch14/memory_norms"
    )


def after(norm, rounds, gamma, by_mass):
    """Return the largest norm of M after so many evictions, each of one unit.

    Every eviction brings a sum with the norm ``norm`` in the same direction. by_mass: the
    memory is their weighted mean, sum gamma^(t - tau) mu_tau M_tau / Z_t, for any
    masses. Otherwise it is the plain sum, M_t = gamma M_(t-1) + what comes.

    norm: float > 0; rounds: int >= 1; gamma: float in [0, 1]; by_mass: bool
    Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/memory_norms is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/memory_norms.py, "
        "then run: kvteach grade ch14/memory_norms"
    )


def worst(features):
    """Return (keys [S, F], weights [S], query [F]) whose answer is as long as it can be.

    Features are the keys themselves, Phi = 1, and all values are one unit vector. Then
    m(q) must have the length sqrt(F), to 1e-9. S is up to you, at least 1; weights are
    not negative and sum to 1.

    features: int >= 1. Returns three float64 tensors.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/memory_norms is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/memory_norms.py, "
        "then run: kvteach grade ch14/memory_norms"
    )
