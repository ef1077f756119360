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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch09/win_tie_loss is not solved yet: read chapter 09, "
        "edit exercises/ch09_measuring/win_tie_loss.py, "
        "then run: kvteach grade ch09/win_tie_loss"
    )


def sign_test(wins, losses):
    """Return the two-sided p-value of the sign test.

    Ties are left out. If neither side is better, each of the wins + losses
    documents is a toss of a fair coin. The p-value is the chance that as many
    tosses come out at least as lopsided as these, towards either side. It is 1.0
    where there is nothing to toss.

    wins, losses: ints, up to many thousands
    Returns a float, exact up to rounding.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch09/win_tie_loss is not solved yet: read chapter 09, "
        "edit exercises/ch09_measuring/win_tie_loss.py, "
        "then run: kvteach grade ch09/win_tie_loss"
    )
