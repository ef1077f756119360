"""The candidate pool: few enough keys that every subset of them can be tried."""

import math

import torch


def pool_extras(size, limit=200_000, most=24):
    """Return how many keys may compete beside the ``size`` heaviest ones.

    A pool of size + m keys has C(size + m, size) subsets of ``size`` keys. The
    answer is the largest m that is at most ``most`` and for which there are at
    most ``limit`` subsets.

    size: int, at least 1; limit: int, at least 1; most: int, at least 0
    Returns an int.
    """
    # BEGIN SOLUTION
    # One more extra key always means more subsets, so counting up and stopping
    # at the first pool that is too large finds the largest one that is not.
    extras = 0
    while extras < most and math.comb(size + extras + 1, size) <= limit:
        extras += 1
    return extras
    # END SOLUTION


def candidate_pool(p, v, size, extras):
    """Return the keys that may be in the best set, strongest candidates first.

    First the top-mass set: the ``size`` largest weights, largest first. Then the
    ``extras`` keys outside it with the largest pull on the output,

        p_j ||v_j - mu||,   mu = sum_j p_j v_j,

    largest first. Of equal weights or pulls the smaller index comes first. A row
    with fewer than size + extras keys gives all of them.

    p: [S] float64, positive, summing to 1; v: [S, D] float64
    size: int, 1 <= size <= S; extras: int, at least 0

    Returns int64 indices, [min(size + extras, S)]. The arguments stay as they
    are.
    """
    # BEGIN SOLUTION
    # Neither topk nor a plain sort promises an order among equals: a stable
    # sort keeps equal entries in the order that they came in, by index.
    top = p.argsort(descending=True, stable=True)[:size]

    # A heavy key near mu hardly matters, and a light one far away may cancel
    # what the others leave: hence the pull, not the weight. The top-mass keys
    # are in the pool already; a pull of -1 puts them behind all others.
    pull = p * (v - p @ v).norm(dim=-1)
    pull[top] = -1.0
    others = pull.argsort(descending=True, stable=True)[: len(p) - size]
    return torch.cat([top, others[:extras]])
    # END SOLUTION
