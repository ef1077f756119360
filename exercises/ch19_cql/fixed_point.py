"""The minimum of conservative learning, without any training."""

import torch


def one_action(wanted, push, steps=60):
    """Return the q with q + push e^q = wanted, to the precision of float64.

    wanted: [...] float64, from -50 to 50; push: [...] float64, above 0, from e^-50 to
    e^50
    Returns [...] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch19/fixed_point is not solved yet: read chapter 19, "
        "edit exercises/ch19_cql/fixed_point.py, "
        "then run: kvteach grade ch19/fixed_point"
    )


def fixed_point(mean_a, share_a, c):
    """Return the Q with Q = R + c (1 - softmax(Q) / p), [A] float64.

    With Z = sum e^Q every action solves an equation of its own; find the Z for which
    their answers sum to Z.

    mean_a: [A] float64, R; share_a: [A] float64, p, all above 0 and summing to 1;
    c: float > 0
    Returns [A] float64, right to 1e-9. The arguments stay as they are.
    Raises ValueError, with the word "share_a" in the message, where a share is 0.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch19/fixed_point is not solved yet: read chapter 19, "
        "edit exercises/ch19_cql/fixed_point.py, "
        "then run: kvteach grade ch19/fixed_point"
    )
