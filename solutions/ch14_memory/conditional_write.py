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
    # BEGIN SOLUTION
    pi_s = score_s.masked_fill(score_s == torch.inf, -torch.inf).softmax(0)
    gone_s = pi_s * ~kept_s
    mass = float(gone_s.sum())
    moments = (keys_sd * (gone_s / mass)[:, None]).T @ values_se
    if state is None:
        return moments, mass
    before, old = state
    total = gamma * old + mass
    return (gamma * old * before + mass * moments) / total, total
    # END SOLUTION


def counts(masses, gamma):
    """Return what each eviction counts in the memory after the last one.

    masses: list of T floats > 0, mu of each eviction in order; gamma: float in (0, 1]
    Returns [T] float64, summing to 1.
    """
    # BEGIN SOLUTION
    age = torch.arange(len(masses) - 1, -1, -1, dtype=torch.float64)
    weight = torch.tensor(masses, dtype=torch.float64) * gamma**age
    return weight / weight.sum()
    # END SOLUTION
