"""A round of the teacher that never lowers its objective."""

import torch


def objective(w_s, u_s, x_sz, beta, tau):
    """Return F(w) = <w, u> + beta log det(I + sum w_i x_i x_i') - tau sum w_i log w_i.

    0 log 0 is 0.

    w_s: [S] float64, >= 0, summing to 1; u_s: [S] float64; x_sz: [S, Z] float64
    beta, tau: floats, > 0

    Returns a float. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/rising_round is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/rising_round.py, "
        "then run: kvteach grade ch13/rising_round"
    )


def step(w_s, u_s, x_sz, beta, tau, share):
    """Return the weights after one step of this share.

        log w+ = (1 - share) log w + share (u + beta h(w)) / tau, normalised,
        h_i = x_i' (I + sum w_j x_j x_j')^-1 x_i

    w_s: [S] float64, > 0, summing to 1; share: float, 0 < share <= 1; the others as
    for `objective`

    Returns [S] float64, summing to 1. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/rising_round is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/rising_round.py, "
        "then run: kvteach grade ch13/rising_round"
    )


def rising_round(w_s, u_s, x_sz, beta, tau):
    """Return (weights, share) of the first step that does not lower F.

    Try the shares 1, 1/2, 1/4, ... in this order, each from the same w, and take the
    first with which F is at least what it was at w.

    The arguments are those of `objective`, w > 0, and stay as they are.
    Returns ([S] float64, float).
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/rising_round is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/rising_round.py, "
        "then run: kvteach grade ch13/rising_round"
    )
