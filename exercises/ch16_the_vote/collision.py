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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/collision is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/collision.py, "
        "then run: kvteach grade ch16/collision"
    )


def collision_entropy(p_hs):
    """Return -ln(sum_t p_t^2 + 1e-12) of every row, in nats.

    p_hs: [H, S] float64, rows sum to 1, or to 0
    Returns [H] float64.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/collision is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/collision.py, "
        "then run: kvteach grade ch16/collision"
    )


def renyi(p_hs, order):
    """Return the Rényi entropy of every row, in nats, for any order.

    For most orders a it is ln(sum_t p_t^a) / (1 - a), over keys with p_t > 0. Order 1 is
    the limit, Shannon's entropy; order infinity is -ln of the largest weight. Keys of
    weight 0 add nothing, whatever the order.

    p_hs: [H, S] float64, rows sum to 1; order: float >= 0, or math.inf
    Returns [H] float64. Raises ValueError, with the word "order" in the message, for a
    negative order.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/collision is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/collision.py, "
        "then run: kvteach grade ch16/collision"
    )
