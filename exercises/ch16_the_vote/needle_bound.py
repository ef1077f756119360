"""What the vote promises a needle, and how long a text the promise needs."""

import math

import torch


def promised(eps, eta, slack_j, length, tau, sinks):
    """Return (floor, ceiling): the vote's least and the mean's most for the needle.

    One head puts 1 - eps on the needle and has an isolated entropy of at most eta. Each
    other head j has at least ln(length - sinks) - slack_j nats, and gives the needle
    nothing.

        D       = sum_j exp(slack_j / tau) (length - sinks)^(-1 / tau)
        C       = exp(-eta / tau)
        floor   = (1 - eps) - (1 - eps) D / (C + D)
        ceiling = (1 - eps) / R, R heads in all

    slack_j: [R - 1] float64, >= 0, possibly empty; eps in [0, 1]; eta >= 0, tau > 0,
    length > sinks. With a small tau single powers leave the range of float64; the floor
    must be right all the same.

    Returns two floats.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/needle_bound is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/needle_bound.py, "
        "then run: kvteach grade ch16/needle_bound"
    )


def shortest_length(eps, eta, slack_j, wanted, tau, sinks):
    """Return the smallest length whose promise, the floor, is at least ``wanted``.

    slack_j: [R - 1] float64, at least one other head; wanted: 0 < wanted < 1 - eps;
    other arguments as in `promised`. The length is an int of at least sinks + 1.

    Returns an int. Raises ValueError, with the word "wanted" in the message, where wanted
    is not below 1 - eps: no length is enough.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/needle_bound is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/needle_bound.py, "
        "then run: kvteach grade ch16/needle_bound"
    )
