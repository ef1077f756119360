"""Two numbers that foresee headroom from the weights of a row alone."""

import torch


def dropped_mass(p, size):
    """Return the weight that is lost when the ``size`` largest weights are kept.

    p: [..., S] float64, not negative, each row summing to 1
    size: int, 1 <= size <= S

    Returns [...] float64, to a relative accuracy of 1e-9 also where almost
    nothing is dropped. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # Not 1 minus the kept mass: where the rest weighs 1e-18, that is 0, or
    # -1e-16, or whatever rounding left. Adding up the small ones loses nothing.
    return p.sort(dim=-1).values[..., : p.shape[-1] - size].sum(-1)
    # END SOLUTION


def effective_keys(p):
    """Return how many keys of equal weight would be as concentrated as the row.

        1 / sum_j p_j^2

    between 1, for a row with all its weight on one key, and S, for a flat row.
    Unlike a count, it hardly notices keys of tiny weight.

    p: [..., S] float64, not negative, each row summing to 1
    Returns [...] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # The chance that two keys drawn by weight are the same one is sum p_j^2; for
    # n equal weights it is 1 / n. Keys of weight 0 add nothing, so rows padded
    # with zeros to a common length need no mask.
    return 1 / p.square().sum(-1)
    # END SOLUTION


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
    # BEGIN SOLUTION
    # A label for the cell, not for the row: it can be fixed once, offline, and
    # used for every prompt to come.
    mass = dropped_mass(p, size)
    flat = torch.zeros(cells, dtype=torch.bool)
    for c in range(cells):
        rows = mass[cell == c]
        if len(rows):
            flat[c] = rows.quantile(0.5) > limit
    return flat
    # END SOLUTION
