"""Two numbers that foresee headroom from the weights of a row alone."""

import torch


def dropped_mass(p, size):
    """Return the weight that is lost when the ``size`` largest weights are kept.

    p: [..., S] float64, not negative, each row summing to 1
    size: int, 1 <= size <= S

    Returns [...] float64, to a relative accuracy of 1e-9 also where almost
    nothing is dropped. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch05/predictors is not solved yet: read chapter 05, "
        "edit exercises/ch05_the_map/predictors.py, "
        "then run: kvteach grade ch05/predictors"
    )


def effective_keys(p):
    """Return how many keys of equal weight would be as concentrated as the row.

        1 / sum_j p_j^2

    between 1, for a row with all its weight on one key, and S, for a flat row.
    Unlike a count, it hardly notices keys of tiny weight.

    p: [..., S] float64, not negative, each row summing to 1
    Returns [...] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch05/predictors is not solved yet: read chapter 05, "
        "edit exercises/ch05_the_map/predictors.py, "
        "then run: kvteach grade ch05/predictors"
    )


def flat_cells(p, size, cell, cells, limit=0.25):
    """Return which cells are flat: their median row drops more than ``limit``.

    A cell is one head of one layer, seen over many rows.

    p: [n, S] float64, rows of weights; size: int, the number of kept keys
    cell: [n] int64, the cell of each row, 0 .. cells - 1; cells: int
    limit: float

    Returns [cells] bool; False for a cell without rows. The median of an even
    number of values is the mean of the two in the middle. The arguments stay as
    they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch05/predictors is not solved yet: read chapter 05, "
        "edit exercises/ch05_the_map/predictors.py, "
        "then run: kvteach grade ch05/predictors"
    )
