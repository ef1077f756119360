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
    # BEGIN SOLUTION
    # E = e = 0 would be 0 / 0. Dividing by 1 instead makes it 1 - 0, which is
    # wrong as well: the second `where` says what the share is there.
    divisor = torch.where(top_error > 0, top_error, 1.0)
    return torch.where(top_error > 0, 1 - least_error / divisor, 0.0)
    # END SOLUTION


def has_headroom(least_error, top_error):
    """Return which rows have headroom: a set at least 10% better than top-mass.

        E <= 0.9 e(A*)   and   e(A*) > 0

    It is the same event as a gap ratio kappa = e(A*) / E of at least 1 / 0.9, a
    little more than 1.11.

    least_error, top_error: as in `closable_share`
    Returns [...] bool. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # Without the second condition a row without any error would count: 0 <= 0.
    # As a product, because the ratio is infinite where E is 0.
    return (top_error > 0) & (least_error <= 0.9 * top_error)
    # END SOLUTION


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
    # BEGIN SOLUTION
    # kappa rises with c, so the median of one gives the median of the other (for
    # an even count only nearly: the mean of two ratios is not the ratio at the
    # mean share). A mean has no such rule, and the mean of kappa is infinite as
    # soon as one E is 0: averages are taken of shares.
    share = closable_share(least_error, top_error)
    # torch.median would return the lower of the two in the middle.
    middle = share.quantile(0.5).item()
    headroom = has_headroom(least_error, top_error).double().mean().item()
    return 1 / (1 - middle), share.mean().item(), headroom
    # END SOLUTION
