"""The minimum of conservative learning, without any training."""

import torch


def one_action(wanted, push, steps=60):
    """Return the q with q + push e^q = wanted, to the precision of float64.

    wanted: [...] float64, from -50 to 50; push: [...] float64, above 0, from e^-50 to
    e^50
    Returns [...] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # y + e^y = total with y = log push + q: rising and convex, so Newton's method that
    # starts above the root comes down to it.
    log_push = push.log()
    total = wanted + log_push
    y = torch.where(total > 1, total.clamp_min(1).log(), total)
    for _ in range(steps):
        y = y - (y + y.exp() - total) / (1 + y.exp())
    return y - log_push
    # END SOLUTION


def fixed_point(mean_a, share_a, c):
    """Return the Q with Q = R + c (1 - softmax(Q) / p), [A] float64.

    With Z = sum e^Q every action solves an equation of its own; find the Z for which
    their answers sum to Z.

    mean_a: [A] float64, R; share_a: [A] float64, p, all above 0 and summing to 1;
    c: float > 0
    Returns [A] float64, right to 1e-9. The arguments stay as they are.
    Raises ValueError, with the word "share_a" in the message, where a share is 0.
    """
    # BEGIN SOLUTION
    if not (share_a > 0).all():
        raise ValueError("share_a: an action was never tried; its Q has no minimum")

    def answer(log_z):
        return one_action(mean_a + c, c / share_a * torch.exp(-log_z))

    # sum p Q = sum p R, and no Q is above R + c.
    low = mean_a.min()
    high = mean_a.max() + c + torch.tensor(float(len(mean_a))).double().log()
    for _ in range(200):
        middle = (low + high) / 2
        if answer(middle).logsumexp(0) > middle:
            low = middle
        else:
            high = middle
    return answer(low)
    # END SOLUTION
