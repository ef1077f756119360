"""What a key covers, and what two keys cover together."""

import torch


def gains(sigma_zz, x_sz, alpha):
    """Return h_i = alpha x_i' Sigma^-1 x_i of every key.

    sigma_zz: [Z, Z] float64, symmetric and positive definite
    x_sz: [S, Z] float64; alpha: float, > 0

    Returns [S] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # Solving is safer than inverting, and S right-hand sides cost one factorization.
    solved_sz = torch.linalg.solve(sigma_zz, x_sz.T).T
    return alpha * (x_sz * solved_sz).sum(1)
    # END SOLUTION


def interaction(sigma_zz, x_z, y_z, alpha):
    """Return what a pair covers beyond its parts, log(1 - rho^2).

        log det(Sigma + alpha x x' + alpha y y') - log det Sigma
            = log(1 + h_x) + log(1 + h_y) + log(1 - rho^2)

    sigma_zz: [Z, Z] float64, symmetric and positive definite
    x_z, y_z: [Z] float64; alpha: float, > 0

    Returns a float, 0.0 or less. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    h_x, h_y = gains(sigma_zz, torch.stack([x_z, y_z]), alpha).tolist()
    cross = alpha * (x_z @ torch.linalg.solve(sigma_zz, y_z)).item()
    rho2 = cross**2 / ((1 + h_x) * (1 + h_y))
    return torch.log1p(torch.tensor(-rho2, dtype=torch.float64)).item()
    # END SOLUTION


def cross_derivative(sigma_zz, x_sz, alpha):
    """Return d2 log det Sigma(w) / dw_i dw_j for all pairs of keys.

    Sigma(w) = I + alpha sum_i w_i x_i x_i', and sigma_zz is its value at some w.

    sigma_zz: [Z, Z] float64, symmetric and positive definite
    x_sz: [S, Z] float64; alpha: float, > 0

    Returns [S, S] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    return -(alpha * x_sz @ torch.linalg.solve(sigma_zz, x_sz.T)).square()
    # END SOLUTION
