"""What one prompt is worth."""

import math


def components(x_ph):
    """Return the variance of the heads, and of what neither head nor prompt explains.

    x_ph = m + a_h + b_p + e_ph. Both estimates are without bias: with left_ph what is
    left of x after its row means and column means are taken out (and the mean of all
    put back), the noise is sum left^2 / ((P-1)(H-1)); and the column means have the
    variance (over H - 1) of the signal plus noise / P.

    x_ph: [P, H] float64, P >= 2, H >= 2
    Returns (signal, noise), two floats; the signal may be negative. The argument stays
    as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/signal is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/signal.py, "
        "then run: kvteach grade ch18/signal"
    )


def agreement(signal, noise, prompts):
    """Return the correlation over heads of two means of ``prompts`` prompts each.

    The two sets of prompts have none in common.

    signal, noise: variances, floats > 0; prompts: int >= 1
    Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/signal is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/signal.py, "
        "then run: kvteach grade ch18/signal"
    )


def prompts_needed(one, wanted):
    """Return the fewest prompts whose mean agrees to ``wanted`` with another such mean.

    one: the agreement of two single prompts, float, above 0 and below 1
    wanted: float, above 0 and below 1
    Returns an int >= 1. Raises ValueError, with the word "wanted" in the message, for
    a wanted agreement outside that range.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/signal is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/signal.py, "
        "then run: kvteach grade ch18/signal"
    )
