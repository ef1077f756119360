"""Scores at equal bytes: read a method's curve where its rival stands."""

import numpy as np


def score_at(held_j, score_j, target):
    """Return the score of a method had it held ``target`` bytes, or None.

    The method was measured at J budgets: at held_j[j] bytes it scored score_j[j].
    Between neighbours in bytes the score is linear in the logarithm of the bytes.
    Budgets that held equally many bytes count as one, with the mean of their
    scores. Outside the measured range nothing is known: None.

    held_j: [J] NumPy float64, in any order; score_j: [J] NumPy float64;
    target: float

    Returns a float or None. Raises ValueError, with the words "held_j" in the
    message, where some bytes are not above 0. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch09/equal_bytes is not solved yet: read chapter 09, "
        "edit exercises/ch09_measuring/equal_bytes.py, "
        "then run: kvteach grade ch09/equal_bytes"
    )


def gain_at_equal_bytes(held_jd, score_jd, held_d, score_d):
    """Return what theirs gains over ours at the bytes that theirs held.

    Ours was measured on document d at J budgets: column d of held_jd and score_jd.
    Theirs held held_d[d] bytes there and scored score_d[d]. Each document has a
    curve of its own. Documents on which theirs held more or fewer bytes than ours
    at any budget are left out.

    held_jd, score_jd: [J, D] NumPy float64; held_d, score_d: [D] NumPy float64

    Returns (gain, left_out): the mean of theirs minus ours over the documents that
    can be compared, a float, and how many cannot, an int. Raises ValueError, with
    the words "held_d" in the message, where none can. The arguments stay as they
    are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch09/equal_bytes is not solved yet: read chapter 09, "
        "edit exercises/ch09_measuring/equal_bytes.py, "
        "then run: kvteach grade ch09/equal_bytes"
    )
