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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/leverage is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/leverage.py, "
        "then run: kvteach grade ch06/leverage"
    )


def effective_rank(keys_sd, ridge):
    """Return how many directions the keys fill: the sum of their leverages.

        sum_i s_i^2 / (s_i^2 + ridge) ,   s_i the singular values of K

    Directions in which the keys are long count one, those in which they are short
    compared with the ridge count nothing.

    keys_sd, ridge: as in `leverage`, whose ValueError it raises
    Returns a float. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/leverage is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/leverage.py, "
        "then run: kvteach grade ch06/leverage"
    )


def standing_out(keys_sd, ridge, j):
    """Return the direction in which key j stands out most.

    The w of length 1 for which key j's share

        (k_j . w)^2 / (||K w||^2 + ridge)

    is largest, with the sign that makes k_j . w positive. For a key of length 0
    every share is 0; then w is the first unit vector.

    keys_sd, ridge: as in `leverage`, with S > D or a ridge that is not tiny; j: int
    Returns [D] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/leverage is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/leverage.py, "
        "then run: kvteach grade ch06/leverage"
    )
