"""Where conservative learning comes to rest."""

import torch


def objective(q_a, mean_a, share_a, c):
    """Return J of one state.

    J = c (log sum_a e^Q_a - sum_a p_a Q_a) + 1/2 sum_a p_a (Q_a - R_a)^2

    q_a, mean_a, share_a: [A] float64, Q, R and p; c: float >= 0. Entries of Q may be
    in the hundreds.

    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    push = q_a.logsumexp(0) - (share_a * q_a).sum()
    fit = (share_a * (q_a - mean_a) ** 2).sum() / 2
    return (c * push + fit).item()
    # END SOLUTION


def downhill(q_a, mean_a, share_a, c):
    """Return the gradient of J, without automatic differentiation.

    Arguments as in `objective`.
    Returns [A] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    return c * (q_a.softmax(0) - share_a) + share_a * (q_a - mean_a)
    # END SOLUTION


def stationary(q_a, mean_a, share_a, c):
    """Return what each Q_a would have to be, given the softmax of all of them.

    R_a + c (1 - softmax(Q)_a / p_a); for an action that was never tried, Q_a itself.

    Arguments as in `objective`.
    Returns [A] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    tried_a = share_a > 0
    ratio_a = q_a.softmax(0) / torch.where(tried_a, share_a, 1.0)
    return torch.where(tried_a, mean_a + c * (1 - ratio_a), q_a)
    # END SOLUTION
