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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/output_count is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/output_count.py, "
        "then run: kvteach grade ch11/output_count"
    )


def output_counts(p_s, v_sd, tolerance):
    """Return two counts of keys for an error of at most ``tolerance``.

    first: the smallest k for which the k heaviest keys have such an error
    safe: the smallest k from which on every count, up to S, has such an error

    tolerance: float >= 1e-9; others as above
    Returns (first, safe), two ints.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/output_count is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/output_count.py, "
        "then run: kvteach grade ch11/output_count"
    )


def certified_count(p_s, v_sd, tolerance):
    """Return the count that the mass alone vouches for.

    No set with dropped mass m has an error above 2 R m, where R is the largest distance
    of a value from mu. The result is the smallest k for which 2 R m <= tolerance for
    the k heaviest keys; m = 0 where all are kept.

    Returns an int. Arguments as in `output_counts`.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/output_count is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/output_count.py, "
        "then run: kvteach grade ch11/output_count"
    )
