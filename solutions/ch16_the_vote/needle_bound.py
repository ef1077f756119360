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
    # BEGIN SOLUTION
    heads = len(slack_j) + 1
    # ln(D / C); of an empty sum it is -inf, and the floor is 1 - eps.
    odds = torch.logsumexp(slack_j / tau, 0) + (eta - math.log(length - sinks)) / tau
    return (1 - eps) * torch.sigmoid(-odds).item(), (1 - eps) / heads
    # END SOLUTION


def shortest_length(eps, eta, slack_j, wanted, tau, sinks):
    """Return the smallest length whose promise, the floor, is at least ``wanted``.

    slack_j: [R - 1] float64, at least one other head; wanted: 0 < wanted < 1 - eps;
    other arguments as in `promised`. The length is an int of at least sinks + 1.

    Returns an int. Raises ValueError, with the word "wanted" in the message, where wanted
    is not below 1 - eps: no length is enough.
    """
    # BEGIN SOLUTION
    if not wanted < 1 - eps:
        raise ValueError(f"wanted: {wanted}; a needle of {1 - eps} can't promise that")
    # floor >= wanted where D / C <= (1 - eps) / wanted - 1.
    allowed = math.log((1 - eps) / wanted - 1)
    keys = eta + tau * (torch.logsumexp(slack_j / tau, 0).item() - allowed)
    return sinks + max(1, math.ceil(math.exp(keys)))
    # END SOLUTION
