"""From a prompt's risks to its thresholds: two numbers, two searches, one index."""

import torch


def risks(alpha_t, nats_w):
    """Return (entropy of alpha, perplexity of the window), floats.

    The entropy is that of alpha scaled to sum 1, in nats; keys with alpha 0 add
    nothing. The perplexity is e to the mean of nats_w, -ln p of the window's tokens.

    alpha_t: [T] float64, >= 0, not all 0; nats_w: [W] float64
    """
    # BEGIN SOLUTION
    p_t = alpha_t / alpha_t.sum()
    return torch.special.entr(p_t).sum().item(), nats_w.mean().exp().item()
    # END SOLUTION


def thresholds(gate_blep, budgets, edges, share, risk):
    """Return the thresholds of all layers, [L].

    The compiled budget is the one nearest to ``share`` as a ratio, of equally near ones
    the first. Bin i of a risk holds the values from edge i - 1 on and below edge i.

    gate_blep: [B, L, E, P] float64; budgets: list of B floats; share: float, > 0
    edges: (entropy edges [E - 1], perplexity edges [P - 1]), ascending, float64
    risk: (entropy, perplexity), floats
    Returns float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    away = [max(share / budget, budget / share) for budget in budgets]
    entropy, perplexity = (
        int((values <= given).sum()) for values, given in zip(edges, risk)
    )
    return gate_blep[away.index(min(away)), :, entropy, perplexity].clone()
    # END SOLUTION
