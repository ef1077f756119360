"""Elastic selection: a threshold, a budget, and which of the two is at work."""

import torch


def keep(u_t, tau, most):
    """Return which keys stay, [T] bool.

    Keys with a utility of ``tau`` or more stay, if they are no more than ``most`` in
    all; else the best ``most`` of them, of equal ones the earlier first. The last key
    always stays, whatever its utility, and counts as one of them.

    u_t: [T] float64; tau: float; most: int, >= 1
    Returns bool. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch20/elastic is not solved yet: read chapter 20, "
        "edit exercises/ch20_compilerkv/elastic.py, "
        "then run: kvteach grade ch20/elastic"
    )


def penalty(u_t, tau, most):
    """Return what the published reward charges: max(0, wanted - most) / T.

    wanted: keys with a utility of ``tau`` or more, and the last key.

    u_t: [T] float64; tau: float; most: int. Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch20/elastic is not solved yet: read chapter 20, "
        "edit exercises/ch20_compilerkv/elastic.py, "
        "then run: kvteach grade ch20/elastic"
    )
