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
    # BEGIN SOLUTION
    inverse_zz = torch.eye(x_sz.shape[1], dtype=torch.float64)
    free_s = torch.ones(len(u_s), dtype=torch.bool)
    picked = []
    for _ in range(count):
        h_s = ((x_sz @ inverse_zz) * x_sz).sum(1)
        adds_s = (u_s + beta * h_s.log1p()).masked_fill(~free_s, -torch.inf)
        best = int((adds_s == adds_s.max()).nonzero()[0])
        picked.append(best)
        free_s[best] = False
        # Sherman-Morrison: the inverse after a rank-one update.
        turned_z = inverse_zz @ x_sz[best]
        inverse_zz = inverse_zz - torch.outer(turned_z, turned_z) / (1 + h_s[best])
    return torch.tensor(picked, dtype=torch.int64)
    # END SOLUTION


def worth(u_s, x_sz, beta, chosen):
    """Return sum over the chosen of u_i + beta log det(I + sum x_i x_i').

    chosen: [n] int64, positions, each at most once; the others as for `greedy`
    Returns a float, 0.0 for no keys. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    some_nz = x_sz[chosen]
    sigma = torch.eye(x_sz.shape[1], dtype=torch.float64) + some_nz.T @ some_nz
    return (u_s[chosen].sum() + beta * torch.logdet(sigma)).item()
    # END SOLUTION
