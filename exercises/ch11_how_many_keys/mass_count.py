"""How many keys hold the mass of a row, and how many look heavy."""

import math


def mass_count(logits_s, eta):
    """Return K_eta: the fewest keys that hold at least 1 - eta of the row's mass.

    A row's weights are the softmax of its logits; a logit of -inf is a key that the row
    cannot see. Logits may be as large as 10,000 and eta as small as 1e-15: K_eta is
    the least k for which the weights of all but the k heaviest keys sum to eta or less.

    logits_s: [S] float64, at least one finite; eta: float, 0 <= eta < 1
    Returns an int. Raises ValueError, with the word "eta" in the message, for an eta
    outside. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/mass_count is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/mass_count.py, "
        "then run: kvteach grade ch11/mass_count"
    )


def heavy_count(logits_s):
    """Return how many weights are at least 1 / ln n, n being the keys that are visible.

    logits_s: [S] float64, at least three finite, others -inf
    Returns an int, at most ln n. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/mass_count is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/mass_count.py, "
        "then run: kvteach grade ch11/mass_count"
    )
