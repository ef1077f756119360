"""How many keys hold the output, which is not how many hold the mass."""

import torch


def errors_by_count(p_s, v_sd):
    """Return the error of the k heaviest keys for every k = 1 .. S.

    Entry k - 1 is ||mu - m||, with mu = sum_j p_j v_j and m the mean of the k kept
    values under renormalised weights. Of equal weights the smaller index is heavier.
    Cost O(S D) after the sort: S may be 30,000.

    p_s: [S] float64, positive, sum 1; v_sd: [S, D] float64
    Returns [S] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    order = p_s.argsort(descending=True, stable=True)
    p_s, v_sd = p_s[order], v_sd[order]
    away_sd = p_s[:, None] * (v_sd - p_s @ v_sd)
    return away_sd.cumsum(0).norm(dim=1) / p_s.cumsum(0)
    # END SOLUTION


def output_counts(p_s, v_sd, tolerance):
    """Return two counts of keys for an error of at most ``tolerance``.

    first: the smallest k for which the k heaviest keys have such an error
    safe: the smallest k from which on every count, up to S, has such an error

    tolerance: float >= 1e-9; others as above
    Returns (first, safe), two ints.
    """
    # BEGIN SOLUTION
    good = errors_by_count(p_s, v_sd) <= tolerance
    good[-1] = True  # all keys: no error but rounding
    bad = (~good).nonzero().flatten()
    safe = int(bad[-1]) + 2 if len(bad) else 1
    return int(good.nonzero()[0]) + 1, safe
    # END SOLUTION


def certified_count(p_s, v_sd, tolerance):
    """Return the count that the mass alone vouches for.

    No set with dropped mass m has an error above 2 R m, where R is the largest distance
    of a value from mu. The result is the smallest k for which 2 R m <= tolerance for
    the k heaviest keys; m = 0 where all are kept.

    Returns an int. Arguments as in `output_counts`.
    """
    # BEGIN SOLUTION
    mu_d = p_s @ v_sd
    radius = (v_sd - mu_d).norm(dim=1).max()
    light_first = p_s.sort().values
    # Dropping the 1, 2, ... lightest keys; the sums ascend.
    dropped = light_first.cumsum(0)[:-1]
    return len(p_s) - int((2 * radius * dropped <= tolerance).sum())
    # END SOLUTION
