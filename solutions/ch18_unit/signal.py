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
    # BEGIN SOLUTION
    prompts, heads = x_ph.shape
    left_ph = x_ph - x_ph.mean(0) - x_ph.mean(1, keepdim=True) + x_ph.mean()
    noise = left_ph.square().sum().item() / ((prompts - 1) * (heads - 1))
    signal = x_ph.mean(0).var().item() - noise / prompts
    return signal, noise
    # END SOLUTION


def agreement(signal, noise, prompts):
    """Return the correlation over heads of two means of ``prompts`` prompts each.

    The two sets of prompts have none in common.

    signal, noise: variances, floats > 0; prompts: int >= 1
    Returns a float.
    """
    # BEGIN SOLUTION
    return signal / (signal + noise / prompts)
    # END SOLUTION


def prompts_needed(one, wanted):
    """Return the fewest prompts whose mean agrees to ``wanted`` with another such mean.

    one: the agreement of two single prompts, float, above 0 and below 1
    wanted: float, above 0 and below 1
    Returns an int >= 1. Raises ValueError, with the word "wanted" in the message, for
    a wanted agreement outside that range.
    """
    # BEGIN SOLUTION
    if not 0 < wanted < 1:
        raise ValueError(f"wanted: {wanted} is outside 0 .. 1")
    exact = wanted * (1 - one) / (one * (1 - wanted))
    return max(1, math.ceil(exact - 1e-9))  # a whole number is no reason for one more
    # END SOLUTION
