"""What a gap profile promises about the number of keys."""

import math

import torch


def offsets(gap_s, gamma):
    """Return the smallest offsets with which G lies within two lines of slope gamma.

    below: the smallest b with G(j) >= gamma log j - b for all j = 1 .. S
    above: the smallest b with G(j) <= gamma log j + b for all j

    gap_s: [S] float64, ascending from 0, gap_s[0] being G(1); gamma: float >= 0
    Returns (below, above), two floats. The argument stays as it is.
    """
    # BEGIN SOLUTION
    ranks = torch.arange(1, len(gap_s) + 1, dtype=torch.float64)
    over = gap_s - gamma * ranks.log()
    return float(-over.min()), float(over.max())
    # END SOLUTION


def most_keys(gap_s, gammas, eta):
    """Return the smallest upper bound on K_eta that the theorem gives for any gamma.

    For each gamma in the list, with its smallest offset b:

        K_eta <= max(1, ceil((e^b / (eta (gamma - 1)))^(1 / (gamma - 1))))

    gap_s: as in `offsets`; gammas: list of floats > 1; eta: float, 0 < eta < 1
    Returns an int. Raises ValueError, with the word "gammas" in the message, for an
    empty list and for a gamma of 1 or less.
    """
    # BEGIN SOLUTION
    if not gammas or min(gammas) <= 1:
        raise ValueError(f"gammas: {gammas}; need at least one, all above 1")
    bounds = []
    for gamma in gammas:
        below, _ = offsets(gap_s, gamma)
        bound = (math.exp(below) / (eta * (gamma - 1))) ** (1 / (gamma - 1))
        bounds.append(max(1, math.ceil(bound)))
    return min(bounds)
    # END SOLUTION


def least_keys(gap_s, gammas, eta):
    """Return the largest lower bound on K_eta that the theorem gives for any gamma.

    For each gamma in the list, with its smallest offset b and S keys:

        K_eta >= (1 - eta) e^-b ((S + 1)^(1 - gamma) - 1) / (1 - gamma)

    K_eta is a whole number, and at least 1: so is the result.

    gammas: list of floats, 0 <= gamma < 1; others as above
    Returns an int. Raises ValueError, with the word "gammas" in the message, for an
    empty list and for a gamma outside [0, 1).
    """
    # BEGIN SOLUTION
    if not gammas or not (0 <= min(gammas) and max(gammas) < 1):
        raise ValueError(f"gammas: {gammas}; need at least one, all in [0, 1)")
    bounds = [1]
    for gamma in gammas:
        _, above = offsets(gap_s, gamma)
        power = 1 - gamma
        all_keys = math.exp(-above) * ((len(gap_s) + 1) ** power - 1) / power
        bounds.append(math.ceil((1 - eta) * all_keys))
    return max(bounds)
    # END SOLUTION
