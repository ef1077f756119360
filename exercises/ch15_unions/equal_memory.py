"""Hold the union, or let the group decide together?"""

import torch


def common_choice(mass_rs, size):
    """Return the set of ``size`` keys that loses least mass, summed over the heads.

    All R heads see the same keys; the loss of head h is the mass that it has outside.
    Of equally good keys the smaller position stays.

    mass_rs: [R, S] float64, rows of attention; size: int, 1 <= size <= S

    Returns [S] bool with ``size`` True. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/equal_memory is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/equal_memory.py, "
        "then run: kvteach grade ch15/equal_memory"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/equal_memory is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/equal_memory.py, "
        "then run: kvteach grade ch15/equal_memory"
    )
