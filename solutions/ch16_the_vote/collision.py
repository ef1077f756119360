"""How concentrated a head is, with its sinks and without them."""

import math

import torch


def isolated(mass_hs, sinks):
    """Return the rows without their first ``sinks`` keys, scaled to sum 1.

    The first keys become 0. The others are divided by their sum, or by 1e-12 where that
    is larger, so that a head with all its weight on the sinks becomes a row of zeros.

    mass_hs: [H, S] float64, rows sum to 1; sinks: int, 0 <= sinks <= S
    Returns [H, S] float64. The argument stays as it is.
    """
    # BEGIN SOLUTION
    rest_hs = mass_hs.clone()
    rest_hs[:, :sinks] = 0
    return rest_hs / rest_hs.sum(1, keepdim=True).clamp_min(1e-12)
    # END SOLUTION


def collision_entropy(p_hs):
    """Return -ln(sum_t p_t^2 + 1e-12) of every row, in nats.

    p_hs: [H, S] float64, rows sum to 1, or to 0
    Returns [H] float64.
    """
    # BEGIN SOLUTION
    return -(p_hs.square().sum(1) + 1e-12).log()
    # END SOLUTION


def renyi(p_hs, order):
    """Return the Rényi entropy of every row, in nats, for any order.

    For most orders a it is ln(sum_t p_t^a) / (1 - a), over keys with p_t > 0. Order 1 is
    the limit, Shannon's entropy; order infinity is -ln of the largest weight. Keys of
    weight 0 add nothing, whatever the order.

    p_hs: [H, S] float64, rows sum to 1; order: float >= 0, or math.inf
    Returns [H] float64. Raises ValueError, with the word "order" in the message, for a
    negative order.
    """
    # BEGIN SOLUTION
    if not order >= 0:
        raise ValueError(f"order: {order}; need 0 .. inf")
    if order == 1:
        return torch.special.entr(p_hs).sum(1)
    if order == math.inf:
        return -p_hs.amax(1).log()
    # 0 to the power 0 is 1 for torch, but a key of weight 0 is no key of this head.
    powers_hs = torch.where(p_hs > 0, p_hs.pow(order), 0.0)
    return powers_hs.sum(1).log() / (1 - order)
    # END SOLUTION
