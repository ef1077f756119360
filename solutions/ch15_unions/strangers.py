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
    # BEGIN SOLUTION
    if not 0 < share <= 1:
        raise ValueError(f"share: {share} is outside 0 .. 1, or 0")
    missed_by_all = (1 - share) ** heads
    return (1 - missed_by_all) / share
    # END SOLUTION


def wanted_by(shares):
    """Return how a key is wanted: the probability of 0, 1, ..., R heads wanting it.

    Head h wants it with probability shares[h], independently of the others.

    shares: [R] float64, each 0 .. 1
    Returns [R + 1] float64, summing to 1. The argument stays as it is.
    """
    # BEGIN SOLUTION
    # One head after another: n heads want it because n did already and this one does
    # not, or n - 1 did and this one does.
    found = torch.zeros(len(shares) + 1, dtype=torch.float64)
    found[0] = 1
    for share in shares.tolist():
        more = found.roll(1)
        more[0] = 0
        found = found * (1 - share) + more * share
    return found
    # END SOLUTION


def agreement(overhead, share, heads):
    """Return how far a group is from strangers to agreement: 0 for strangers, 1 for one set.

    On the line from the `expected_overhead` to 1. Below 0 the heads avoid each other.

    overhead: the group's union overhead, float; share, heads: as in `expected_overhead`,
    share below 1 and heads 2 or more
    Returns a float.
    """
    # BEGIN SOLUTION
    strangers = expected_overhead(share, heads)
    return (strangers - overhead) / (strangers - 1)
    # END SOLUTION
