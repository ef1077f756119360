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
    # BEGIN SOLUTION
    if not (held_j > 0).all():
        raise ValueError(f"held_j: {held_j}; need bytes above 0")
    sizes, of_budget = np.unique(held_j, return_inverse=True)
    means = np.bincount(of_budget, score_j) / np.bincount(of_budget)
    if not sizes[0] <= target <= sizes[-1]:
        return None
    return float(np.interp(np.log(target), np.log(sizes), means))
    # END SOLUTION


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
    # BEGIN SOLUTION
    gains = []
    for held_j, score_j, held, score in zip(held_jd.T, score_jd.T, held_d, score_d):
        ours = score_at(held_j, score_j, held)
        if ours is not None:
            gains.append(score - ours)
    if not gains:
        raise ValueError(f"held_d: {held_d} is outside of all curves")
    return float(np.mean(gains)), len(held_d) - len(gains)
    # END SOLUTION
