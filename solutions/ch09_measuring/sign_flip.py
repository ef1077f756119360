"""A p-value without assumptions: turn the signs of whole documents."""

import numpy as np


def exact_p(differences, documents):
    """Return the two-sided p-value over all ways to turn signs.

    differences[i] = ours - theirs on a question of document documents[i]. If
    neither is better, the differences of a document could as well all have the
    other sign. There are 2^C ways to turn the signs of C documents or leave them;
    the p-value is the share of ways for which the sum of all differences is at
    least as far from 0 as it is observed. Sums of floats are not exact: what is
    short of the observed distance by at most 1e-9 times the sum of |differences|
    counts as as far.

    differences: [n] NumPy float64; documents: [n] NumPy integer labels, in any
    order, at most 16 different ones

    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    labels, of_question = np.unique(documents, return_inverse=True)
    sums = np.bincount(of_question, differences)
    # The bits of 0 .. 2^C - 1 are all ways to turn C signs.
    ways = np.arange(2 ** len(labels))[:, None] >> np.arange(len(labels)) & 1
    totals = abs((1 - 2 * ways) @ sums)
    seen = abs(sums.sum()) - 1e-9 * abs(differences).sum()
    return float((totals >= seen).mean())
    # END SOLUTION


def sampled_p(differences, documents, signs_nc):
    """Return the p-value from some random ways instead of all.

    Row i of signs_nc holds one sign for each document, in ascending order of the
    labels. The observed signs are one way more, and count among those that are as
    far from 0: with N rows, the p-value is never below 1 / (1 + N). What is as
    far from 0 is decided as in `exact_p`.

    differences, documents: as there, any number of documents; signs_nc: [N, C]
    NumPy float64, each entry 1 or -1

    Returns a float. Raises ValueError, with the words "signs_nc" in the message,
    where there are not as many columns as documents. The arguments stay as they
    are.
    """
    # BEGIN SOLUTION
    labels, of_question = np.unique(documents, return_inverse=True)
    if signs_nc.shape[1] != len(labels):
        raise ValueError(
            f"signs_nc: {signs_nc.shape[1]} columns for {len(labels)} documents"
        )
    sums = np.bincount(of_question, differences)
    seen = abs(sums.sum()) - 1e-9 * abs(differences).sum()
    as_far = int((abs(signs_nc @ sums) >= seen).sum())
    return (1 + as_far) / (1 + len(signs_nc))
    # END SOLUTION
