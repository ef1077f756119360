"""Heads that know nothing of each other."""

import torch


def expected_overhead(share, heads):
    """Return the expected union overhead of heads that choose at random.

    Each of R heads keeps each key with probability ``share``, independently: of S
    keys, s = share S on average. The result is the mean size of the union over s.

    share: float, above 0 and at most 1; heads: R >= 1
    Returns a float. Raises ValueError, with the word "share" in the message, for a
    share outside that range.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/strangers is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/strangers.py, "
        "then run: kvteach grade ch15/strangers"
    )


def wanted_by(shares):
    """Return how a key is wanted: the probability of 0, 1, ..., R heads wanting it.

    Head h wants it with probability shares[h], independently of the others.

    shares: [R] float64, each 0 .. 1
    Returns [R + 1] float64, summing to 1. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/strangers is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/strangers.py, "
        "then run: kvteach grade ch15/strangers"
    )


def agreement(overhead, share, heads):
    """Return how far a group is from strangers to agreement: 0 for strangers, 1 for one set.

    On the line from the `expected_overhead` to 1. Below 0 the heads avoid each other.

    overhead: the group's union overhead, float; share, heads: as in `expected_overhead`,
    share below 1 and heads 2 or more
    Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/strangers is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/strangers.py, "
        "then run: kvteach grade ch15/strangers"
    )
