"""Dinkelbach's method: the least ratio, by asking for the sign of a difference."""

import math

import torch


def lowest(squares, masses, level):
    """Return where squares - level^2 masses^2 is least, and its value there.

    Its sign is Dinkelbach's test: negative exactly if some set has an error
    below ``level``.

    squares: [N] float64, ||sum_A Gamma_j||^2 of each set; masses: [N] float64,
    p(A), positive; level: float, at least 0

    Returns (index, value), an int and a float; of equal values the first index.
    The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # Squared on both sides: without square roots this is a quadratic form of
    # the 0/1 vector, x' (G - level^2 p p') x, which half subsets can minimise.
    difference = squares - level**2 * masses**2
    index = int(difference.argmin())
    return index, difference[index].item()
    # END SOLUTION


def dinkelbach(squares, masses, start):
    """Return the set with the least error and the levels passed on the way.

    The error of a set is sqrt(squares) / masses. The first level is that of set
    ``start``. Each round asks `lowest` for the best set at the present level and
    goes on with its error as the next level, for as long as that lowers the
    level by more than one part in 10^12.

    squares, masses: as in `lowest`; start: int, the index of any set

    Returns (index, levels): an int, and a list of floats that falls from the
    error of ``start`` to that of set ``index``, the least of all.
    The arguments stay as they are.
    """
    # BEGIN SOLUTION
    index, levels = start, [math.sqrt(squares[start]) / masses[start].item()]
    while True:
        found, value = lowest(squares, masses, levels[-1])
        error = math.sqrt(squares[found]) / masses[found].item()
        # At the least error the test is 0, and rounding decides its sign: the
        # sign alone would let a loop run for ever. No absolute tolerance could
        # tell either, for on a row of tiny deviations everything is tiny.
        # Whether the level falls is a question that has no scale.
        if value >= 0 or error >= levels[-1] * (1 - 1e-12):
            return index, levels
        index = found
        levels.append(error)
    # END SOLUTION
