"""Leverage: how far a key can stand out in some direction."""

import torch


def leverage(keys_sd, ridge):
    """Return the ridge leverage of every key, within 0 .. 1.

        l_j = k_j' (K'K + ridge I)^-1 k_j

    K has the keys as rows; they are taken as they are, not centred.

    keys_sd: [S, D] float64, of any rank, S smaller or larger than D; ridge: float > 0
    Returns [S] float64. Raises ValueError, with the word "ridge" in the message,
    where it is not above 0. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    if not ridge > 0:
        raise ValueError(f"ridge: {ridge}; need a number above 0")
    # With the singular values K = U diag(s) V', l_j = sum_i u_ji^2 s_i^2 / (s_i^2 +
    # ridge). Unlike the inverse of K'K this never squares a singular value that the
    # ridge does not save.
    u, s, _ = torch.linalg.svd(keys_sd, full_matrices=False)
    return (u.square() * (s.square() / (s.square() + ridge))).sum(1)
    # END SOLUTION


def effective_rank(keys_sd, ridge):
    """Return how many directions the keys fill: the sum of their leverages.

        sum_i s_i^2 / (s_i^2 + ridge) ,   s_i the singular values of K

    Directions in which the keys are long count one, those in which they are short
    compared with the ridge count nothing.

    keys_sd, ridge: as in `leverage`, whose ValueError it raises
    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    return leverage(keys_sd, ridge).sum().item()
    # END SOLUTION


def standing_out(keys_sd, ridge, j):
    """Return the direction in which key j stands out most.

    The w of length 1 for which key j's share

        (k_j . w)^2 / (||K w||^2 + ridge)

    is largest, with the sign that makes k_j . w positive. For a key of length 0
    every share is 0; then w is the first unit vector.

    keys_sd, ridge: as in `leverage`, with S > D or a ridge that is not tiny; j: int
    Returns [D] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    dim = keys_sd.shape[1]
    # By Cauchy-Schwarz in the metric of M = K'K + ridge I, the best direction is
    # M^-1 k_j: among all w with w'Mw = 1 it is the one closest to k_j.
    metric = keys_sd.T @ keys_sd + ridge * torch.eye(dim, dtype=torch.float64)
    w = torch.linalg.solve(metric, keys_sd[j])
    if not w.any():
        return torch.eye(dim, dtype=torch.float64)[0]
    # k_j' M^-1 k_j > 0 because M is positive definite: the sign is right already.
    return w / w.norm()
    # END SOLUTION
