"""Retrieval and aggregation: when is it right to attend to fewer keys?

One row of attention is asked for a blend of two things: the value of one key, the
signal v*, and the plain mean vbar of all other values, the background:

    y(alpha) = alpha v* + (1 - alpha) vbar

alpha = 1 is retrieval, alpha = 0 aggregation. Any attention operator returns some
output o; along delta = v* - vbar it has a signal weight w, and across it a residual:

    o = vbar + w delta + r,   <r, delta> = 0
    ||y(alpha) - o||^2 = (alpha - w)^2 ||delta||^2 + ||r||^2

Two operators therefore have squared errors whose difference is a straight line in
alpha: they change places once. With residuals alike, that is half way between their
signal weights, alpha* = (w_e + w_s) / 2, which is Theorem 3.8 of "Beyond Sparse
Weights" (arXiv 2608.21541; the model itself is rebuilt here from summaries). The
term for unlike residuals, in `crossing`, is derived here.

Outputs, signals and backgrounds are [..., D], one trial a row, float64.
"""

import math
from typing import NamedTuple

import torch

from kvteach.rows import error
from kvteach.rows.select import top_mass


class Weight(NamedTuple):
    """Signal weight ``w`` and squared residual over ||delta||^2, ``spread``: [...]."""

    w: torch.Tensor
    spread: torch.Tensor


class Trials(NamedTuple):
    """What n trials asked for and got, each [n, D]. See `draw`."""

    signal: torch.Tensor
    background: torch.Tensor
    exact: torch.Tensor
    sparse: torch.Tensor


def target(alpha, signal, background):
    """y(alpha) = alpha v* + (1 - alpha) vbar, [..., D]. alpha: a number or [...]."""
    alpha = torch.as_tensor(alpha, dtype=torch.float64).unsqueeze(-1)
    return alpha * signal + (1 - alpha) * background


def signal_weight(output, signal, background):
    """How an output splits into signal, background and neither: `Weight` of [...].

        w = <o - vbar, delta> / ||delta||^2,   spread = ||r||^2 / ||delta||^2

    Raises ValueError where signal and background coincide.
    """
    delta = signal - background
    square = (delta * delta).sum(-1)
    if not (square > 0).all():
        raise ValueError("signal: equal to the background in some row")
    away = output - background
    w = (away * delta).sum(-1) / square
    across = away - w.unsqueeze(-1) * delta
    return Weight(w, (across * across).sum(-1) / square)


def squared_error(alpha, weight):
    """||y(alpha) - o||^2 / ||delta||^2 = (alpha - w)^2 + spread, [...]."""
    return (alpha - weight.w) ** 2 + weight.spread


def crossing(exact, sparse):
    """The alpha beyond which ``sparse`` has the smaller mean squared error: a float.

        alpha* = (w_e + w_s) / 2 + (s_s - s_e) / (2 (w_s - w_e))

    w: mean signal weight over all trials. s: mean spread plus the variance of w, that
    is, everything of an operator's error that alpha does not move. Equal s give the
    midpoint. A truncated row averages fewer values, so that its s is larger and
    truncation must wait for more retrieval than the midpoint says. Both are `Weight`.
    Raises ValueError unless the sparse operator has the larger mean signal weight.
    """
    w_e, w_s = exact.w.mean(), sparse.w.mean()
    if not w_s > w_e:
        raise ValueError(f"sparse: mean signal weight {w_s:.3f}; need over {w_e:.3f}")
    s_e, s_s = (x.spread.mean() + x.w.var(correction=0) for x in (exact, sparse))
    return float((w_e + w_s) / 2 + (s_s - s_e) / (2 * (w_s - w_e)))


def midpoint(exact, sparse):
    """(w_e + w_s) / 2 of mean signal weights: the crossing where spreads are equal."""
    return float((exact.w.mean() + sparse.w.mean()) / 2)


# --- the experiment ---------------------------------------------------------


def draw(
    generator, count, keys=256, kept=16, dim=16, strength=5.0, sigma=1.0, noise=0.0
):
    """``count`` rows of attention with random keys, exact and truncated: `Trials`.

    A query of length sigma sqrt(D); ``keys`` - 1 Gaussian keys, whose logits
    q k / sqrt(D) then have standard deviation sigma; and one key along the query with
    logit ``strength``, the signal. Values: v* of length about 1, and
    vbar + ``noise`` times a random vector of that length for the others. Exact is
    softmax attention over all keys, sparse over the ``kept`` heaviest, renormalised.
    ``background`` is the true mean of the other values of that trial.

    Cost: count * keys * dim numbers in memory, 8 bytes each. Raises ValueError for
    kept outside 1 .. keys, fewer than two keys and negative sigma or noise.
    """
    if not 1 <= kept <= keys or keys < 2:
        raise ValueError(f"kept, keys: {kept}, {keys}; need 1 <= kept <= keys >= 2")
    if sigma <= 0 or noise < 0:
        raise ValueError(f"sigma, noise: {sigma}, {noise}; need sigma > 0, noise >= 0")

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    query_nd = torch.nn.functional.normalize(normal(count, dim), dim=-1)
    query_nd = query_nd * sigma * math.sqrt(dim)
    keys_nsd = normal(count, keys, dim)
    keys_nsd[:, 0] = query_nd * strength / (sigma**2 * math.sqrt(dim))
    logits_ns = torch.einsum("nd,nsd->ns", query_nd, keys_nsd) / math.sqrt(dim)
    signal, mean = normal(2, count, dim) / math.sqrt(dim)
    values_nsd = mean[:, None] + noise * normal(count, keys, dim) / math.sqrt(dim)
    values_nsd[:, 0] = signal
    p_ns = logits_ns.softmax(-1)
    return Trials(
        signal,
        values_nsd[:, 1:].mean(1),
        error.dense_output(p_ns, values_nsd),
        error.forced_output(p_ns, values_nsd, top_mass(p_ns, kept)),
    )


def balanced_strength(keys, kept, sigma=1.0):
    """The ``strength`` for which w_e = 1 - w_s about, so that the midpoint is one half.

    With Z the weight e^l of all background keys and Z' that of the kept ones,
    w_e = e^a / (e^a + Z) and w_s = e^a / (e^a + Z') add up to 1 where e^2a = Z Z'.
    For Gaussian logits Z = n e^(sigma^2 / 2), and the k heaviest of n hold
    Phi(Phi^-1(k / n) + sigma) of it (see `gaps.gaussian_share`).
    """
    normal = torch.distributions.Normal(0.0, 1.0)
    background, spared = keys - 1, kept - 1
    if not 1 <= spared < background:
        raise ValueError(f"kept: {kept}; need 2 <= kept < {keys}")
    share = normal.cdf(normal.icdf(torch.tensor(spared / background)) + sigma)
    return math.log(background) + sigma**2 / 2 + 0.5 * math.log(share)


def gains(trials, alpha):
    """How much smaller the sparse squared error is, [n]: > 0 where sparse wins.

    (||y - exact||^2 - ||y - sparse||^2) / ||delta||^2, from the outputs alone.
    """
    y = target(alpha, trials.signal, trials.background)
    scale = ((trials.signal - trials.background) ** 2).sum(-1)
    exact, sparse = (((y - o) ** 2).sum(-1) for o in (trials.exact, trials.sparse))
    return (exact - sparse) / scale


def measured_crossing(alphas, gains_mn):
    """Where the mean gain passes from loss to win: the root of its straight line.

    alphas: [m] of at least two numbers; gains_mn: [m, n], the gains of n trials at
    each. Fits mean gain = a + b alpha by least squares and returns -a / b, a scalar
    tensor. Knows nothing of weights: compare it with `crossing`. Raises ValueError
    for shapes that do not match.
    """
    alphas = torch.as_tensor(alphas, dtype=torch.float64)
    if len(alphas) < 2 or gains_mn.shape[:-1] != alphas.shape:
        raise ValueError(f"alphas: {len(alphas)} for gains {tuple(gains_mn.shape)}")
    mean = gains_mn.mean(-1)
    x = alphas - alphas.mean()
    slope = (x * mean).sum(-1) / (x * x).sum()
    return alphas.mean() - mean.mean(-1) / slope


def crossing_interval(alphas, gains_mn, generator, resamples=1000, level=0.95):
    """`measured_crossing` and its percentile interval, trials drawn anew.

    gains_mn: [m, n], column t from trial t at every alpha: a resample takes columns.
    Returns (estimate, low, high), floats. Cost O(resamples m n).
    """
    count = gains_mn.shape[-1]
    found = torch.stack([
        measured_crossing(
            alphas, gains_mn[:, torch.randint(count, (count,), generator=generator)]
        )
        for _ in range(resamples)
    ])
    tail = (1 - level) / 2
    ends = torch.tensor([tail, 1 - tail], dtype=torch.float64)
    low, high = found.quantile(ends).tolist()
    return float(measured_crossing(alphas, gains_mn)), low, high
