"""Hold the union, or let the group decide together?"""

import torch


def common_choice(mass_rs, size):
    """Return the set of ``size`` keys that loses least mass, summed over the heads.

    All R heads see the same keys; the loss of head h is the mass that it has outside.
    Of equally good keys the smaller position stays.

    mass_rs: [R, S] float64, rows of attention; size: int, 1 <= size <= S

    Returns [S] bool with ``size`` True. The argument stays as it is.
    """
    # BEGIN SOLUTION
    best = mass_rs.sum(0).argsort(descending=True, stable=True)[:size]
    kept = torch.zeros(mass_rs.shape[1], dtype=torch.bool)
    kept[best] = True
    return kept
    # END SOLUTION


def compare(mass_rs, size):
    """Return what a group loses by its union, and by a common choice of equal memory.

    Union: every head takes its own ``size`` best keys (of equal ones the smaller
    position), and all heads see all keys that any of them took. Common: as many keys as
    the union has, chosen by `common_choice`.

    mass_rs: [R, S] float64, each row summing to 1; size: int, 1 <= size <= S

    Returns (held, losses): held is the number of keys of the union, an int; losses is
    [2, R] float64, the mass that each head loses, first for the union, then for the
    common choice. The argument stays as it is.
    """
    # BEGIN SOLUTION
    best = mass_rs.argsort(dim=1, descending=True, stable=True)[:, :size]
    own = torch.zeros(mass_rs.shape, dtype=torch.bool).scatter(1, best, True)
    union = own.any(0)
    held = int(union.sum())
    sets = torch.stack([union, common_choice(mass_rs, held)])
    return held, (mass_rs * ~sets[:, None]).sum(-1)
    # END SOLUTION
