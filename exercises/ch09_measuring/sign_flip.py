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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch09/sign_flip is not solved yet: read chapter 09, "
        "edit exercises/ch09_measuring/sign_flip.py, "
        "then run: kvteach grade ch09/sign_flip"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch09/sign_flip is not solved yet: read chapter 09, "
        "edit exercises/ch09_measuring/sign_flip.py, "
        "then run: kvteach grade ch09/sign_flip"
    )
