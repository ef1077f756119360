"""What a sample of proofs says about all rows: a cap on the median."""

import math
from statistics import NormalDist

import torch


def wilson_upper(successes, trials, level=0.95):
    """Return the upper end of Wilson's interval for a proportion.

    The interval holds every proportion q that the observed share x = successes /
    trials does not contradict,

        |x - q| <= z sqrt(q (1 - q) / trials) ,

    z being the (1 + level) / 2 quantile of the standard normal distribution,
    1.96 for a level of .95. The upper end is the larger solution of equality.

    successes: int, 0 .. trials; trials: int, at least 1; level: float in (0, 1)
    Returns a float. Raises ValueError, with the word "successes" in the message,
    where they are negative or more than the trials.
    """
    # BEGIN SOLUTION
    if not 0 <= successes <= trials:
        raise ValueError(f"successes: {successes} is outside 0 .. {trials}")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = successes / trials
    # Squared, it is a quadratic equation in q:
    #     q^2 (1 + z^2 / n) - q (2 x + z^2 / n) + x^2 = 0 .
    # The error uses the variance at q, not at the observed share: with no
    # success at all that one would be 0, and the interval a point.
    extra = z * z / trials
    root = math.sqrt(share * (1 - share) * 4 * extra + extra * extra)
    return (2 * share + extra + root) / (2 * (1 + extra))
    # END SOLUTION


def median_cap(values, fraction):
    """Return the largest median that raising some of the values could lead to.

    At most the given fraction of the values may be raised, by any amount. Then
    the median is at most the (1/2 + fraction)-quantile of the values as they
    are, with linear interpolation between neighbours.

    values: [n] float64; fraction: float, 0 <= fraction < 1/2
    Returns a float. Raises ValueError, with the word "fraction" in the message,
    for any other fraction. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # At worst, values just below the middle are carried to the top: everything
    # between moves down the order by their number, and what was fraction n
    # places above the middle is in the middle now.
    if not 0 <= fraction < 0.5:
        raise ValueError(f"fraction: {fraction} is outside 0 .. 1/2")
    return values.quantile(0.5 + fraction).item()
    # END SOLUTION


def substitution_cap(shares, improved, solved, unsolved=0):
    """Return a cap on the median closable share over all keys.

    Each of ``shares`` was found by trying the sets of a pool, and could be larger
    over all keys. A solver over all keys was run on a sample of the rows: in
    ``improved`` of ``solved`` cases it found a better set, and in ``unsolved``
    further cases it came to no end. Count the unsolved ones as improved, take the
    upper end of the 95% Wilson interval as the fraction that could be raised, and
    return the median cap.

    shares: [n] float64; improved, solved, unsolved: ints
    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # "Unsolved" is not "not improved": the hard rows are the flat ones, where a
    # better set is most likely. So they join both the successes and the trials.
    fraction = wilson_upper(improved + unsolved, solved + unsolved)
    return median_cap(shares, fraction)
    # END SOLUTION
