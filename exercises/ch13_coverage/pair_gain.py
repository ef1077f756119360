"""What a key covers, and what two keys cover together."""

import torch


def gains(sigma_zz, x_sz, alpha):
    """Return h_i = alpha x_i' Sigma^-1 x_i of every key.

    sigma_zz: [Z, Z] float64, symmetric and positive definite
    x_sz: [S, Z] float64; alpha: float, > 0

    Returns [S] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/pair_gain is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/pair_gain.py, "
        "then run: kvteach grade ch13/pair_gain"
    )


def interaction(sigma_zz, x_z, y_z, alpha):
    """Return what a pair covers beyond its parts, log(1 - rho^2).

        log det(Sigma + alpha x x' + alpha y y') - log det Sigma
            = log(1 + h_x) + log(1 + h_y) + log(1 - rho^2)

    sigma_zz: [Z, Z] float64, symmetric and positive definite
    x_z, y_z: [Z] float64; alpha: float, > 0

    Returns a float, 0.0 or less. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/pair_gain is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/pair_gain.py, "
        "then run: kvteach grade ch13/pair_gain"
    )


def cross_derivative(sigma_zz, x_sz, alpha):
    """Return d2 log det Sigma(w) / dw_i dw_j for all pairs of keys.

    Sigma(w) = I + alpha sum_i w_i x_i x_i', and sigma_zz is its value at some w.

    sigma_zz: [Z, Z] float64, symmetric and positive definite
    x_sz: [S, Z] float64; alpha: float, > 0

    Returns [S, S] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/pair_gain is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/pair_gain.py, "
        "then run: kvteach grade ch13/pair_gain"
    )
