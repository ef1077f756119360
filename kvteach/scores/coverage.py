"""CORE's teacher: keys that are in demand, spread over the directions that keys take.

Two keys that say nearly the same are both in demand, and one of them would do. So the
teacher adds to each key's utility what the key covers that the others do not: the
gain in log det of a covariance. It is a distribution over positions, one a layer, and
a network imitates it (`kvteach.scores.indexer`).

Demand and coverage are those of CORE (arXiv 2610.02235, and the authors' code).
"""

from dataclasses import dataclass

import torch

GROUP = 4
"""Query heads that speak for a key-value head: the largest four, or all if fewer."""


@dataclass(frozen=True)
class Coverage:
    """The logarithm of the teacher's distribution, the same for every head.

        score_ki = log w_i,   w <- softmax((u + beta h(w)) / tau), ``rounds`` times

    from uniform weights; u is `utility` over the last ``window`` rows that may rank
    (None for all), h is `gains` of the centred `representation`. Rounds that lower
    the `objective` are shortened (``rising``, see `iterate`): the authors' full ones
    swing to and fro on most layers of the bundled model. beta = 0 leaves the utility
    alone. Scores are finite everywhere and softmax(score) is w, so that one
    distribution can drive what is kept and what a memory writes; sinks are for the
    budget to force (`Uniform(sinks=4)`).

    [K, S] float32. Cost 2 H window S D FLOP for u, 2 rounds S dim^2 for h; memory
    4 H 128 S bytes. The numbers are the authors', but for the window: they read
    every row of a training sequence, we the block of 128 rows after which the method
    evicts again. The Gaussian matrix is drawn by a generator of the rule's own,
    seeded with seed + the layer's index.

    Raises ValueError for parameters out of range and, when called, for fewer rows
    than the window.
    """

    window: int | None = 128
    beta: float = 128.0
    alpha: float = 1.0
    tau: float = 8.0
    rounds: int = 8
    rising: bool = True
    dim: int = 64
    seed: int = 0

    hidden = False

    def __post_init__(self):
        for name in ("window", "rounds", "dim"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}: {value}; need 1 or more")
        if not (self.beta >= 0 and self.alpha > 0 and self.tau > 0):
            raise ValueError(
                f"beta, alpha, tau: {self.beta}, {self.alpha}, {self.tau}; "
                "need at least 0, above 0, above 0"
            )

    def __call__(self, layer):
        u_s = utility(layer, self.window)
        x_sz = centred(representation(layer, self.dim, self.seed))
        knobs = {"alpha": self.alpha, "beta": self.beta, "tau": self.tau}
        *_, log_w_s = iterate(u_s, x_sz, self.rounds, self.rising, **knobs)
        kv_heads = len(layer.keys_ksd)
        return log_w_s.float().expand(kv_heads, -1).clone()


# --- demand: utility ----------------------------------------------------------


def over_heads(value_hts, kv_heads):
    """[H, T, S] to [K, T, S]: mean of the ``GROUP`` largest query heads of a group."""
    groups = value_hts.view(kv_heads, -1, *value_hts.shape[1:])
    if groups.shape[1] > GROUP:
        groups = groups.topk(GROUP, dim=1).values
    return groups.mean(1)


def utility(layer, window=None, tile=128):
    """u_i = max over rows and groups of the mean logit of the group's largest heads.

    window: how many of the last rows that may rank, all recorded by default. A key
    that none of them sees gets the least utility of those that are seen. [S] float64.
    """
    u_s = torch.full((layer.length,), -torch.inf, device=layer.keys_ksd.device)
    begin, end = layer.rows(window)
    for first in range(begin, end, tile):
        seen_hts = layer.logits(first, min(first + tile, end))
        said_kts = over_heads(seen_hts, len(layer.keys_ksd))
        u_s = torch.maximum(u_s, said_kts.amax((0, 1)))
    seen = u_s.isfinite()
    return torch.where(seen, u_s, u_s[seen].min()).double()


# --- coverage: representation, gains, objective -------------------------------


def representation(layer, dim=64, seed=0):
    """Where a key points, all heads together: [S, dim] float32, of length 1.

    z_i = R [k_i1 / |k_i1|, ..., k_iK / |k_iK|] / its length, after rotary embedding;
    R is [dim, K D] Gaussian of variance 1 / dim, fixed for the layer.
    """
    keys_ksd = layer.keys_ksd.float()
    units_ksd = keys_ksd / keys_ksd.norm(dim=-1, keepdim=True).clamp_min(1e-8)
    units_sx = units_ksd.transpose(0, 1).flatten(1)
    generator = torch.Generator().manual_seed(seed + layer.index)
    gauss_zx = torch.randn(dim, units_sx.shape[1], generator=generator) / dim**0.5
    z_sz = units_sx @ gauss_zx.T.to(units_sx.device)
    return z_sz / z_sz.norm(dim=-1, keepdim=True).clamp_min(1e-8)


def centred(z_sz):
    """x_i = z_i - mean z, float64: what all keys share covers nothing."""
    return z_sz.double() - z_sz.double().mean(0)


def uniform(count, device=None):
    """1 / count, ``count`` times, float64: where the iteration starts."""
    return torch.full((count,), 1 / count, dtype=torch.float64, device=device)


def covariance(w_s, x_sz, alpha=1.0):
    """Sigma = I + alpha sum_i w_i x_i x_i', [Z, Z]."""
    eye = torch.eye(x_sz.shape[1], dtype=x_sz.dtype, device=x_sz.device)
    return eye + alpha * (x_sz.T * w_s) @ x_sz


def gains(w_s, x_sz, alpha=1.0):
    """h_i = alpha x_i' Sigma^-1 x_i: the derivative of log det Sigma by w_i, [S]."""
    solved_zs = torch.linalg.solve(covariance(w_s, x_sz, alpha), x_sz.T)
    return alpha * (x_sz * solved_zs.T).sum(-1)


def interactions(w_s, x_sz, alpha=1.0):
    """G_ij = alpha x_i' Sigma^-1 x_j, [S, S]; its diagonal is h.

    Coverage is not additive: d2 log det / dw_i dw_j = -G_ij^2, and adding i and j to
    Sigma with weight 1 brings log(1 + h_i) + log(1 + h_j) + log(1 - rho^2) with
    rho^2 = G_ij^2 / ((1 + h_i) (1 + h_j)). S^2 numbers: for small sets.
    """
    return alpha * x_sz @ torch.linalg.solve(covariance(w_s, x_sz, alpha), x_sz.T)


def objective(w_s, u_s, x_sz, alpha=1.0, beta=128.0, tau=8.0):
    """F(w) = <w, u> + beta log det Sigma(w) + tau entropy(w), concave in w."""
    coverage = torch.logdet(covariance(w_s, x_sz, alpha))
    return w_s @ u_s + beta * coverage - tau * torch.special.xlogy(w_s, w_s).sum()


def step(w_s, u_s, x_sz, share=1.0, alpha=1.0, beta=128.0, tau=8.0):
    """Logarithm of the weights after one step, [S] float64.

        log w+ = (1 - share) log w + share (u + beta h(w)) / tau, normalised

    share 1 is CORE's round. It maximises F with log det replaced by its tangent,
    which lies above log det, so it may overshoot; `safe_share` cannot.
    """
    wanted_s = (u_s + beta * gains(w_s, x_sz, alpha)) / tau
    least = torch.finfo(w_s.dtype).tiny  # a weight of 0 would stay 0 for ever
    stay_s = (1 - share) * w_s.clamp_min(least).log()
    return (stay_s + share * wanted_s).log_softmax(0)


def safe_share(x_sz, alpha=1.0, beta=128.0, tau=8.0):
    """A share with which no step ever lowers F: tau / (tau + L).

    L = beta alpha max |x_i|^2 / 4 bounds the curvature of beta log det relative to
    the entropy's: (G o G) diag(w) has row sums alpha x_i' (Sigma^-1 - Sigma^-2) x_i,
    and l / (1 + l)^2 <= 1 / 4. Mirror ascent with step 1 / (tau + L) is this step.
    """
    curvature = beta * alpha * float(x_sz.square().sum(-1).max()) / 4
    return tau / (tau + curvature)


def iterate(u_s, x_sz, rounds=8, rising=True, **knobs):
    """Yield log w after each round, from uniform weights, [S] float64.

    rising: a step that lowers F is taken back and half of it tried, down to the safe
    share, so F rises with every round. False: CORE's rounds, which may swing between
    two points. knobs: alpha, beta, tau. Cost 4 S dim^2 FLOP a
    trial, one or two a round.
    """
    w_s = uniform(len(u_s), u_s.device)
    reached = objective(w_s, u_s, x_sz, **knobs)
    least = safe_share(x_sz, **knobs)
    for _ in range(rounds):
        share = 1.0
        while True:
            log_w_s = step(w_s, u_s, x_sz, share, **knobs)
            value = objective(log_w_s.exp(), u_s, x_sz, **knobs)
            if not rising or value >= reached or share <= least:
                break
            share = max(share / 2, least)
        w_s, reached = log_w_s.exp(), value
        yield log_w_s
