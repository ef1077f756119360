"""Where conservative learning comes to rest."""

import torch


def objective(q_a, mean_a, share_a, c):
    """Return J of one state.

    J = c (log sum_a e^Q_a - sum_a p_a Q_a) + 1/2 sum_a p_a (Q_a - R_a)^2

    q_a, mean_a, share_a: [A] float64, Q, R and p; c: float >= 0. Entries of Q may be
    in the hundreds.

    Returns a float. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch19/stationary is not solved yet: read chapter 19, "
        "edit exercises/ch19_cql/stationary.py, "
        "then run: kvteach grade ch19/stationary"
    )


def downhill(q_a, mean_a, share_a, c):
    """Return the gradient of J, without automatic differentiation.

    Arguments as in `objective`.
    Returns [A] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch19/stationary is not solved yet: read chapter 19, "
        "edit exercises/ch19_cql/stationary.py, "
        "then run: kvteach grade ch19/stationary"
    )


def stationary(q_a, mean_a, share_a, c):
    """Return what each Q_a would have to be, given the softmax of all of them.

    R_a + c (1 - softmax(Q)_a / p_a); for an action that was never tried, Q_a itself.

    Arguments as in `objective`.
    Returns [A] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch19/stationary is not solved yet: read chapter 19, "
        "edit exercises/ch19_cql/stationary.py, "
        "then run: kvteach grade ch19/stationary"
    )
