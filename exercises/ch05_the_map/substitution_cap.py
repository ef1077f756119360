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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch05/substitution_cap is not solved yet: read chapter 05, "
        "edit exercises/ch05_the_map/substitution_cap.py, "
        "then run: kvteach grade ch05/substitution_cap"
    )


def median_cap(values, fraction):
    """Return the largest median that raising some of the values could lead to.

    At most the given fraction of the values may be raised, by any amount. Then
    the median is at most the (1/2 + fraction)-quantile of the values as they
    are, with linear interpolation between neighbours.

    values: [n] float64; fraction: float, 0 <= fraction < 1/2
    Returns a float. Raises ValueError, with the word "fraction" in the message,
    for any other fraction. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch05/substitution_cap is not solved yet: read chapter 05, "
        "edit exercises/ch05_the_map/substitution_cap.py, "
        "then run: kvteach grade ch05/substitution_cap"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch05/substitution_cap is not solved yet: read chapter 05, "
        "edit exercises/ch05_the_map/substitution_cap.py, "
        "then run: kvteach grade ch05/substitution_cap"
    )
