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
    # BEGIN SOLUTION
    worth_t = u_t.clone()
    worth_t[-1] = torch.inf
    order = worth_t.argsort(descending=True, stable=True)[:most]
    kept_t = torch.zeros(len(u_t), dtype=torch.bool)
    kept_t[order] = True
    return kept_t & (worth_t >= tau)
    # END SOLUTION


def penalty(u_t, tau, most):
    """Return what the published reward charges: max(0, wanted - most) / T.

    wanted: keys with a utility of ``tau`` or more, and the last key.

    u_t: [T] float64; tau: float; most: int. Returns a float.
    """
    # BEGIN SOLUTION
    wanted = int((u_t[:-1] >= tau).sum()) + 1
    return max(0, wanted - most) / len(u_t)
    # END SOLUTION
