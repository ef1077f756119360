"""What conservative learning takes for knowledge."""

import torch


def break_even(rare, c):
    """Return how much better the rarer of two actions must be to be chosen.

    Its share of the trials is ``rare``, the other's the rest. The two have the same
    Q, and so the same softmax, where R_rare - R_other has this value.

    rare: float, above 0 and at most 1/2; c: float >= 0
    Returns a float. Raises ValueError, with the word "rare" in the message, for a
    share outside that range.
    """
    # BEGIN SOLUTION
    if not 0 < rare <= 0.5:
        raise ValueError(f"rare: {rare} is outside 0 .. 1/2, or 0")
    return c / 2 * (1 / rare - 1 / (1 - rare))
    # END SOLUTION


def habit(count_sa, mean_sa, c):
    """Return the action that conservative learning takes where rewards are small.

    The one with the largest R + c e, where e is how much more often it was tried than
    the mean action of its state: .1 for 10% more, -1 for never. Of equal ones the
    first.

    count_sa, mean_sa: [S, A] float64, each state with a trial; c: float >= 0
    Returns [S] int64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    excess_sa = count_sa / count_sa.mean(1, keepdim=True) - 1
    return (mean_sa + c * excess_sa).argmax(1)
    # END SOLUTION


def harmless(count_a, spread):
    """Return the largest c whose push on this log is no larger than the rewards' spread.

    The push is c times the distance between the largest and the smallest e of `habit`.

    count_a: [A] float64, trials of each action; spread: float > 0, largest mean reward
    less the smallest

    Returns a float, infinity for an even log. The argument stays as it is.
    """
    # BEGIN SOLUTION
    excess_a = count_a / count_a.mean() - 1
    reach = (excess_a.max() - excess_a.min()).item()
    return spread / reach if reach > 0 else float("inf")
    # END SOLUTION
