"""Balancing: swap one key in and one out while that lowers the error."""

import torch


def swap_search(p, v, size, pool):
    """Return the kept set that swaps lead to, its error and the number of swaps.

    Start with the top-mass set: the ``size`` largest weights, of equal ones the
    smaller index. Then, again and again, of all swaps that put one kept key out
    and take one key of the pool in, make the one that leaves the least error

        e_s(A) = ||sum_{j in A} Gamma_j|| / p(A),   Gamma_j = p_j (v_j - mu).

    Stop where no swap lowers the error by more than 1e-12 of itself. Errors that
    agree to 1e-12 of themselves are a tie: the swap with the smaller leaving key
    is made, and if that is the same key, the one with the smaller entering key.

    p: [S] float64, positive, summing to 1; v: [S, D] float64
    size: int, 1 <= size <= S
    pool: a list of distinct ints, the keys that may enter; kept keys that are
          not in the pool may leave, and then not come back

    Returns (indices, error, swaps): a tuple of ints in increasing order, a float
    and an int. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    gamma = p[:, None] * (v - p @ v)
    kept = sorted(p.argsort(descending=True, stable=True)[:size].tolist())
    swaps = 0
    while True:
        g, mass = gamma[kept].sum(0), p[kept].sum()
        error = (g.norm() / mass).item()
        outside = sorted(set(pool) - set(kept))
        if not outside:
            return tuple(kept), error, swaps
        # All swaps at once: [kept, outside, D]. A swap changes the sum by two
        # deviations and the mass by two weights, so none is computed anew, and
        # the mass must move along: the error is a ratio.
        pulls = g - gamma[kept][:, None] + gamma[outside]
        errors = pulls.norm(dim=-1) / (mass - p[kept][:, None] + p[outside])
        # Both lists ascend, so the first of the tied swaps is the one to make.
        tied = errors <= errors.min() * (1 + 1e-12)
        leaving, entering = divmod(int(tied.flatten().int().argmax()), len(outside))
        # Rounding could make two sets of equal error take turns for ever: a
        # swap must win more than rounding can.
        if errors[leaving, entering].item() >= error * (1 - 1e-12):
            return tuple(kept), error, swaps
        kept[leaving] = outside[entering]
        kept.sort()
        swaps += 1
    # END SOLUTION
