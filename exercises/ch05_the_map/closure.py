"""What a better choice could win: gap ratio, closable share, headroom."""

import torch


def closable_share(least_error, top_error):
    """Return which share of the top-mass set's error a better set can save.

        c = 1 - E / e(A*) ,

    0 where the top-mass set is the best set, 1 where some set has no error. A
    row with e(A*) = 0 has nothing to save: its share is 0.

    least_error: [...] float64, E, the least error of a set of that size, >= 0
    top_error: [...] float64, e(A*), the error of the top-mass set, >= least_error

    Returns [...] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch05/closure is not solved yet: read chapter 05, "
        "edit exercises/ch05_the_map/closure.py, "
        "then run: kvteach grade ch05/closure"
    )


def has_headroom(least_error, top_error):
    """Return which rows have headroom: a set at least 10% better than top-mass.

        E <= 0.9 e(A*)   and   e(A*) > 0

    It is the same event as a gap ratio kappa = e(A*) / E of at least 1 / 0.9, a
    little more than 1.11.

    least_error, top_error: as in `closable_share`
    Returns [...] bool. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch05/closure is not solved yet: read chapter 05, "
        "edit exercises/ch05_the_map/closure.py, "
        "then run: kvteach grade ch05/closure"
    )


def summary(least_error, top_error):
    """Return three numbers about many rows, which do not say the same.

    The first is the median gap ratio, computed from the median closable share by
    kappa = 1 / (1 - c), so that rows with E = 0 do no harm; the second the mean
    closable share; the third the share of rows with headroom. The median of an
    even number of values is the mean of the two in the middle.

    least_error, top_error: [n] float64, as in `closable_share`; more than half of
    the rows have E > 0

    Returns (median_ratio, mean_share, headroom), floats. The arguments stay as
    they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch05/closure is not solved yet: read chapter 05, "
        "edit exercises/ch05_the_map/closure.py, "
        "then run: kvteach grade ch05/closure"
    )
