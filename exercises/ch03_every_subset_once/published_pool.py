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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch03/published_pool is not solved yet: read chapter 03, "
        "edit exercises/ch03_every_subset_once/published_pool.py, "
        "then run: kvteach grade ch03/published_pool"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch03/published_pool is not solved yet: read chapter 03, "
        "edit exercises/ch03_every_subset_once/published_pool.py, "
        "then run: kvteach grade ch03/published_pool"
    )
