"""Votes of a group's heads, and the row that they agree on."""

import math

import torch


def vote(entropy_gr, tau):
    """Return the votes of the heads of every group: softmax of -entropy / tau.

    tau may be infinite: all heads alike. It may be 0, the limit from above: the head of
    least entropy decides, and heads with exactly the same least entropy share alike.

    entropy_gr: [G, R] float64, nats, finite; tau: float >= 0
    Returns [G, R] float64, each row of sum 1. Raises ValueError, with the word "tau" in
    the message, for a negative tau and for NaN.
    """
    # BEGIN SOLUTION
    if not tau >= 0:
        raise ValueError(f"tau: {tau}; need a number >= 0")
    if tau == 0:
        least_gr = entropy_gr == entropy_gr.amin(1, keepdim=True)
        return least_gr / least_gr.sum(1, keepdim=True, dtype=torch.float64)
    return (-entropy_gr / tau).softmax(1)
    # END SOLUTION


def pooled(mass_grs, entropy_gr, tau, same=1e-6):
    """Return one row for every group: its heads' rows, mixed by their votes.

    Where the entropies of a group lie at most ``same`` apart, they decide nothing, and a
    key gets the largest weight that any head of the group gives to it.

    mass_grs: [G, R, S] float64, raw rows, sinks and all; entropy_gr: [G, R] float64, of
    the isolated rows; tau: float >= 0
    Returns [G, S] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    mixed_gs = (vote(entropy_gr, tau)[:, :, None] * mass_grs).sum(1)
    alike_g = entropy_gr.amax(1) - entropy_gr.amin(1) <= same
    return torch.where(alike_g[:, None], mass_grs.amax(1), mixed_gs)
    # END SOLUTION


def tau_for(entropy_r, wanted):
    """Return the temperature at which the most concentrated head has this vote.

    For a group of two heads. The vote of the head with less entropy is above 1/2
    whatever the temperature.

    entropy_r: [2] float64, the two differ; wanted: float, 1/2 < wanted < 1
    Returns a float.
    """
    # BEGIN SOLUTION
    # w / (1 - w) = exp(gap / tau)
    gap = (entropy_r[0] - entropy_r[1]).abs().item()
    return gap / math.log(wanted / (1 - wanted))
    # END SOLUTION
