"""What it costs a head to keep only its b best keys."""

import torch


def cost_curve(score_s, values_sd):
    """Return the dispersion cost c(b) of one head for b = 0 .. n.

    Keys of score +inf stay; they are in no tail. The other n keys are ranked by score,
    of equal scores the smaller position first, and pi_j is their score over the sum of
    their scores. With R all but the first b of them:

        m = sum_R pi_j,   vbar = sum_R pi_j v_j / m,
        c(b) = m sqrt( sum_R pi_j / m ||v_j - vbar||^2 ),   c(b) = 0 where m = 0

    so c(n) = 0. Adding one vector to all values changes nothing, also a vector of
    length a million.

    score_s: [S] float64, >= 0, the finite ones not all 0 unless all are +inf;
    values_sd: [S, D] float64
    Returns [n + 1] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    order = score_s.argsort(descending=True, stable=True)
    order = order[score_s[order] < torch.inf]
    pi = score_s[order]
    pi = pi / pi.sum() if len(pi) else pi
    cost = torch.zeros(len(pi) + 1, dtype=torch.float64)
    for b in range(len(pi)):
        weight, values = pi[b:], values_sd[order[b:]]
        mass = weight.sum()
        if mass > 0:
            # Distances from the mean. Mean square less squared mean would subtract
            # two numbers of size 1e12 to find one of size 1.
            away = values - weight @ values / mass
            cost[b] = mass * (weight / mass @ away.square().sum(1)).sqrt()
    return cost
    # END SOLUTION
