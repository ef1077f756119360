"""Rows of Gaussian logits: shares of keys, in the limit of many."""

from statistics import NormalDist

NORMAL = NormalDist()
"""NORMAL.cdf(x) is Phi(x), NORMAL.inv_cdf(p) its inverse for 0 < p < 1."""


def share_needed(sigma, eta):
    """Return the share of the keys that holds 1 - eta of the mass.

    Independent Gaussian logits of standard deviation sigma, very many of them.

    sigma: float >= 0; eta: float, 0 < eta < 1
    Returns a float in (0, 1).
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/gaussian_rows is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/gaussian_rows.py, "
        "then run: kvteach grade ch11/gaussian_rows"
    )


def sigma_needed(share, eta):
    """Return the smallest sigma for which ``share`` of the keys holds 1 - eta of the mass.

    A budget that is larger than the mass asked for needs no spread at all: sigma 0.

    share: float, 0 < share < 1; eta: float, 0 < eta < 1
    Returns a float >= 0. Raises ValueError, with the word "share" in the message, for
    a share outside (0, 1).
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/gaussian_rows is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/gaussian_rows.py, "
        "then run: kvteach grade ch11/gaussian_rows"
    )


def share_beside_sink(sigma, eta, sink):
    """Return the share of the other keys that is needed when one key is a sink.

    The sink alone holds the share ``sink`` of the row's mass. All other keys are
    Gaussian as above, and very many. The sink is kept, and then the heaviest of the
    others until at least 1 - eta of the ROW's mass is held. It may hold enough alone.

    sink: float, 0 <= sink < 1; others as above
    Returns a float in [0, 1).
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/gaussian_rows is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/gaussian_rows.py, "
        "then run: kvteach grade ch11/gaussian_rows"
    )
