"""Greedy coverage: one key after the other, each given those before."""

import torch


def greedy(u_s, x_sz, beta, count):
    """Return the keys in the order in which greed picks them.

    The worth of a set A is sum over A of u_i + beta log det(I + sum over A x_i x_i').
    Pick ``count`` keys: each time the key, not picked yet, that adds most to the
    worth, of equal ones the smaller position.

    A thousand picks from ten thousand keys must take seconds: keep Sigma^-1 x_i, or
    Sigma^-1, up to date instead of solving anew for every candidate.

    u_s: [S] float64; x_sz: [S, Z] float64; beta: float, >= 0; count: int, 0 .. S

    Returns [count] int64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/greedy is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/greedy.py, "
        "then run: kvteach grade ch13/greedy"
    )


def worth(u_s, x_sz, beta, chosen):
    """Return sum over the chosen of u_i + beta log det(I + sum x_i x_i').

    chosen: [n] int64, positions, each at most once; the others as for `greedy`
    Returns a float, 0.0 for no keys. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/greedy is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/greedy.py, "
        "then run: kvteach grade ch13/greedy"
    )
