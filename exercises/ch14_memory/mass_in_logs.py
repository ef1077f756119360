"""All states of a memory, from masses too small for floating point."""

import math

import torch


def states(log_mass_t, moments_tde, gamma):
    """Return the memory after every eviction: (moments [T, D, E], log mass [T]).

    After eviction t, with the age a = t - tau of eviction tau <= t,

        mass_t = sum gamma^a mu_tau
        moments_t = sum gamma^a mu_tau C_tau / mass_t

    A mass comes as its logarithm, which may be -inf (nothing was evicted, C is zero) or
    so low that exp gives 0; and what is asked for is not lost in that.

    log_mass_t: [T] float64, the first finite; moments_tde: C, [T, D, E] float64
    gamma: float in (0, 1]

    Returns ([T, D, E] float64, [T] float64). The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/mass_in_logs is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/mass_in_logs.py, "
        "then run: kvteach grade ch14/mass_in_logs"
    )


def join(first, second, gamma):
    """Return the state after two stretches of evictions, from the states after each.

    Each was computed on its own, as if it began with an empty memory. A state is
    (moments [D, E] float64, log mass float, rounds int): what `states` gives for the last
    of so many evictions. A log mass may be -inf, not both; then that stretch's
    moments are zero.

    Returns such a state. Joining is associative, so stretches may be computed in
    parallel. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/mass_in_logs is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/mass_in_logs.py, "
        "then run: kvteach grade ch14/mass_in_logs"
    )
