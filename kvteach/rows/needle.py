"""How much of a needle survives when a group of heads is pooled.

One retrieval head of R puts mass 1 - eps on the needle; the others, after the sinks are
taken out, are nearly uniform over the T - sinks keys that remain: H_2 >= ln(T - sinks)
- c_j. The mean of the heads leaves (1 - eps) / R and some background. Softmax weights of
minus the entropies leave all but Delta(T), which vanishes as the context grows.
Page-EntroKV (arXiv 2610.03135), theorem 4 and corollary 2.
"""

import math

import torch


def background(length, slack, tau=0.5, sinks=4):
    """D(T) = sum over the other heads of exp(c_j / tau) (T - sinks)^(-1 / tau), float.

    slack: [R - 1] the c_j >= 0, how far each other head is below a uniform one, in
    nats. Raises ValueError for T <= sinks, tau <= 0 and a negative c_j.
    """
    _require_temperature(tau)
    if not length > sinks >= 0:
        raise ValueError(f"length: {length}; need more than the {sinks} sinks")
    slack = torch.as_tensor(slack, dtype=torch.float64)
    if slack.numel() and not (slack >= 0).all():
        raise ValueError(f"slack: {slack.min():g}; need numbers >= 0")
    return ((slack - math.log(length - sinks)) / tau).exp().sum().item()


def lost(eps, eta, others, tau=0.5):
    """Delta = (1 - eps) D / (C + D), C = exp(-eta / tau): needle mass given up at most.

    The pooled mass of the needle is at least (1 - eps) - Delta. eps: what the retrieval
    head leaves to other keys; eta: at least its isolated collision entropy, in nats;
    others: D(T), see `background`. Raises ValueError for eps outside 0 .. 1, eta < 0,
    D < 0 and tau <= 0.
    """
    _require_temperature(tau)
    if not 0 <= eps <= 1:
        raise ValueError(f"eps: {eps}; legal are 0 .. 1")
    if eta < 0 or others < 0:
        raise ValueError(f"eta, others: {eta}, {others}; need numbers >= 0")
    own = math.exp(-eta / tau)
    return (1 - eps) * others / (own + others)


def mean_ceiling(eps, heads, spread=0.0):
    """The most that mean pooling leaves, (1 - eps) / R + (R - 1) spread / R.

    spread: the largest weight that another head has for the needle.
    """
    if heads < 1 or not 0 <= eps <= 1:
        raise ValueError(f"eps, heads: {eps}, {heads}; need 0 <= eps <= 1, heads >= 1")
    return (1 - eps) / heads + (heads - 1) * spread / heads


def _require_temperature(tau):
    if not tau > 0:
        raise ValueError(f"tau: {tau}; need a number > 0")
