"""Wins, ties and losses, counted over documents, and what they prove."""

import math

import numpy as np


def win_tie_loss(ours, theirs, documents, margin=0.0):
    """Return how many documents ours wins, ties and loses.

    ours[i] and theirs[i] answer the same question, of document documents[i]. A
    document is won where the mean of ours - theirs over its questions is above
    margin, lost where it is below -margin, and tied in between. Means of floats
    are not exact: what is within 1e-12 of a margin counts as a tie.

    ours, theirs: [n] NumPy float64; documents: [n] NumPy integer labels, in any
    order, documents with any number of questions; margin: float

    Returns (wins, ties, losses), ints. Raises ValueError, with the word "margin"
    in the message, for a negative one. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    if margin < 0:
        raise ValueError(f"margin: {margin}; need at least 0")
    labels, of_question = np.unique(documents, return_inverse=True)
    sums = np.bincount(of_question, ours - theirs)
    means = sums / np.bincount(of_question)
    # .3 - .1 - .2 is not 0 in floating point.
    wins = int((means > margin + 1e-12).sum())
    losses = int((means < -margin - 1e-12).sum())
    return wins, len(labels) - wins - losses, losses
    # END SOLUTION


def sign_test(wins, losses):
    """Return the two-sided p-value of the sign test.

    Ties are left out. If neither side is better, each of the wins + losses
    documents is a toss of a fair coin. The p-value is the chance that as many
    tosses come out at least as lopsided as these, towards either side. It is 1.0
    where there is nothing to toss.

    wins, losses: ints, up to many thousands
    Returns a float, exact up to rounding.
    """
    # BEGIN SOLUTION
    n = wins + losses
    # Integers of any length: comb(3000, 1500) is no float.
    tail = sum(math.comb(n, k) for k in range(max(wins, losses), n + 1))
    # Both tails; where both hold the middle they meet, and all is as lopsided.
    return min(2 * tail, 2**n) / 2**n
    # END SOLUTION
