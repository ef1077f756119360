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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch09/holm is not solved yet: read chapter 09, "
        "edit exercises/ch09_measuring/holm.py, "
        "then run: kvteach grade ch09/holm"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch09/holm is not solved yet: read chapter 09, "
        "edit exercises/ch09_measuring/holm.py, "
        "then run: kvteach grade ch09/holm"
    )
