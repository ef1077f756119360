"""Many comparisons: p-values that hold for the whole table."""

import numpy as np


def holm(p):
    """Return Holm's adjusted p-values, in the order of p.

    The i-th smallest of m p-values, i = 1 .. m, is multiplied by m - i + 1. No
    adjusted value is smaller than that of a smaller p-value, and none is above 1.
    Rejecting what is at most alpha is then Holm's step-down rule.

    p: [m] NumPy float64, m >= 1
    Returns [m] NumPy float64. Raises ValueError, with the word "p" in the message,
    where an entry is not in 0 .. 1. The argument stays as it is.
    """
    # BEGIN SOLUTION
    # Not "< 0 or > 1": a NaN is neither, and must not pass.
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p: {p}; need numbers in 0 .. 1")
    order = np.argsort(p, kind="stable")
    grown = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(grown, 1.0)
    return adjusted
    # END SOLUTION


def record(differences, p, alpha=0.05):
    """Return wins, ties and losses of a table, corrected for its size.

    Cell i has the mean difference differences[i], ours minus theirs, and the
    p-value p[i]. A cell counts as won or lost, by the sign of its difference, where
    its adjusted p-value is at most alpha, and as a tie otherwise. A difference of 0
    is a tie.

    differences, p: [m] NumPy float64; alpha: float
    Returns (wins, ties, losses), ints. Raises ValueError as `holm` does. The
    arguments stay as they are.
    """
    # BEGIN SOLUTION
    settled = holm(p) <= alpha
    wins = int((settled & (differences > 0)).sum())
    losses = int((settled & (differences < 0)).sum())
    return wins, len(p) - wins - losses, losses
    # END SOLUTION
