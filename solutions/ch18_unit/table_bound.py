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
    # BEGIN SOLUTION
    if not 0 < delta < 1:
        raise ValueError(f"delta: {delta} is outside 0 .. 1")
    return reach * math.sqrt(2 * math.log(2 * cells / delta) / trials)
    # END SOLUTION


def trials_needed(reach, cells, regret, delta):
    """Return the fewest trials a cell with which the best cell is safe to take.

    Safe: the cell with the best mean is worth at most ``regret`` less than the best
    cell, except with probability ``delta``. Each of the two may be off by half.

    reach, cells, delta: as in `table_bound`; regret: float > 0
    Returns an int >= 1.
    """
    # BEGIN SOLUTION
    error = regret / 2
    exact = 2 * math.log(2 * cells / delta) * (reach / error) ** 2
    return max(1, math.ceil(exact))
    # END SOLUTION


def independent(trials):
    """Return how many independent trials a cell can be said to have.

    trials: list of (prompt, row) of everything that was logged in the cell; what
    shares a prompt is not independent.

    Returns an int.
    """
    # BEGIN SOLUTION
    return len({prompt for prompt, _ in trials})
    # END SOLUTION
