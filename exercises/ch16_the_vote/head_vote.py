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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/head_vote is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/head_vote.py, "
        "then run: kvteach grade ch16/head_vote"
    )


def pooled(mass_grs, entropy_gr, tau, same=1e-6):
    """Return one row for every group: its heads' rows, mixed by their votes.

    Where the entropies of a group lie at most ``same`` apart, they decide nothing, and a
    key gets the largest weight that any head of the group gives to it.

    mass_grs: [G, R, S] float64, raw rows, sinks and all; entropy_gr: [G, R] float64, of
    the isolated rows; tau: float >= 0
    Returns [G, S] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/head_vote is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/head_vote.py, "
        "then run: kvteach grade ch16/head_vote"
    )


def tau_for(entropy_r, wanted):
    """Return the temperature at which the most concentrated head has this vote.

    For a group of two heads. The vote of the head with less entropy is above 1/2
    whatever the temperature.

    entropy_r: [2] float64, the two differ; wanted: float, 1/2 < wanted < 1
    Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/head_vote is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/head_vote.py, "
        "then run: kvteach grade ch16/head_vote"
    )
