"""How far a table can be from the truth, if every cell has independent trials."""

import math


def table_bound(reach, cells, trials, delta):
    """Return the error that no cell exceeds, except with probability ``delta``.

    By Hoeffding's inequality a mean of N independent rewards in [-M, M] is off by more
    than e with probability at most 2 exp(-N e^2 / (2 M^2)). All cells at once: add up.

    reach: M, float > 0; cells: int >= 1; trials: N, independent ones in every cell,
    int >= 1; delta: float

    Returns a float. Raises ValueError, with the word "delta" in the message, for a
    delta that is not above 0 and below 1.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/table_bound is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/table_bound.py, "
        "then run: kvteach grade ch18/table_bound"
    )


def trials_needed(reach, cells, regret, delta):
    """Return the fewest trials a cell with which the best cell is safe to take.

    Safe: the cell with the best mean is worth at most ``regret`` less than the best
    cell, except with probability ``delta``. Each of the two may be off by half.

    reach, cells, delta: as in `table_bound`; regret: float > 0
    Returns an int >= 1.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/table_bound is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/table_bound.py, "
        "then run: kvteach grade ch18/table_bound"
    )


def independent(trials):
    """Return how many independent trials a cell can be said to have.

    trials: list of (prompt, row) of everything that was logged in the cell; what
    shares a prompt is not independent.

    Returns an int.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/table_bound is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/table_bound.py, "
        "then run: kvteach grade ch18/table_bound"
    )
