"""Which head of a group deserves the vote? The one whose attention is concentrated.

The R query heads of a KV head see one cache and want different keys. Averaging them
drowns a head that has found something among others that look everywhere; here heads are
weighted by how concentrated they are, measured without the first keys, the attention
sinks, so that a head that rests on a sink does not pass for one that has found something.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch

POOLS = ("entropy", "mean", "max")
EMPTY = -math.log(1e-12)
"""Entropy, in nats, of a head with no attention outside the sinks: nothing to say."""
SAME = 1e-6
"""Entropies this close, in nats, are equal: weights of float32 are no better."""


@dataclass(frozen=True)
class Pooled:
    """score_kj = sum over the heads h of group k of w_h A_hj, w by concentration.

    A_h is the mean attention row of query head h over the last min(T, ``rows``) rows
    that may rank; w = softmax over the group of -H_order(A_h without the first
    ``sinks`` keys) / ``tau``. Where all entropies of a group coincide they say nothing,
    and the score is the largest A_hj instead. tau = inf is the mean, tau = 0 takes the
    most concentrated head. pool: "mean" or "max" over the heads instead, to compare.

    [K, S] float32; the isolated rows only set w, sinks keep their attention in the
    score. Entropies are float64. Cost 2 H rows S D FLOP in tiles of 4 H 128 S bytes,
    and one inner product per head.

    Source: Page-EntroKV (arXiv 2610.03135), equations 19 to 21. Deviations: the mean
    over rows makes one distribution of the window (the paper pools one row that it
    calls aggregated); its code has no fallback for equal entropies. Raises ValueError
    for parameters out of range, and when called, where no row may rank.
    """

    rows: int = 4096
    sinks: int = 4
    tau: float = 0.5
    order: float = 2
    pool: str = "entropy"

    window = None  # short prompts have fewer rows than ``rows``: none is required
    hidden = False

    def __post_init__(self):
        if self.rows < 1:
            raise ValueError(f"rows: {self.rows}; need at least 1")
        _require(self.sinks, self.tau, self.order)
        if self.pool not in POOLS:
            raise ValueError(f"pool: {self.pool!r}; legal are {', '.join(POOLS)}")

    def __call__(self, layer):
        mass_hs = received(layer, self.rows)
        mass_krs = mass_hs.view(layer.keys_ksd.shape[0], -1, layer.length)
        if self.pool == "mean":
            return mass_krs.mean(1)
        if self.pool == "max":
            return mass_krs.amax(1)
        return pooled(mass_krs, self.tau, self.order, self.sinks)


def received(layer, rows=4096):
    """Mean attention that each key gets over the last rows, [H, S] float32, sum 1.

    rows: at most so many, all that may rank if there are fewer. Raises ValueError
    where none may.
    """
    ranking = layer.last_row - (layer.length - layer.queries_htd.shape[1])
    count = min(rows, max(ranking, 1))
    return layer.received(count) / count


def isolated(mass_s, sinks=4):
    """The rows without their first ``sinks`` keys, scaled to sum 1: [..., S] float64.

    0 on the sinks. A row with no mass outside them becomes all 0.
    """
    rest_s = mass_s.double().clone()
    rest_s[..., :sinks] = 0
    return rest_s / rest_s.sum(-1, keepdim=True).clamp_min(1e-12)


def renyi(p, order=2):
    """Renyi entropy of rows, H = ln(sum_j p_j^order) / (1 - order) nats, [...].

    p: [..., S], each row summing to 1, or to 0, which has entropy `EMPTY`. order:
    0 .. inf; 1 is Shannon's entropy, 2 the collision entropy -ln ||p||^2, inf is
    -ln max p, 0 the logarithm of the number of keys. Between 0 and ln S, and never
    rises with the order. Float64. Raises ValueError for a negative order.
    """
    _require(0, 1, order)
    p = p.double()
    if order == 1:
        entropy = torch.special.entr(p).sum(-1)
    elif order == math.inf:
        entropy = -p.amax(-1).log()
    elif order == 0:
        entropy = (p > 0).sum(-1).double().log()
    else:
        # In logarithms, so that no power underflows.
        entropy = (order * p.log()).logsumexp(-1) / (1 - order)
    return torch.where(p.sum(-1) > 0, entropy, EMPTY)


def vote(entropy_r, tau=0.5):
    """Weights of the heads of a group, softmax(-H / tau), [..., R] float64.

    For order 2, w_h goes with (||A_h||^2)^(1 / tau). tau = inf: all alike; tau = 0:
    shared by the heads of least entropy. Raises ValueError for a negative tau.
    """
    _require(0, tau, 2)
    entropy_r = entropy_r.double()
    if tau == 0:
        least = entropy_r == entropy_r.amin(-1, keepdim=True)
        return least / least.sum(-1, keepdim=True)
    return (-entropy_r / tau).softmax(-1)


def pooled(mass_rs, tau=0.5, order=2, sinks=4):
    """One row for the R heads of a group, [..., R, S] to [..., S] float32.

    The raw rows weighted by `vote`; the largest head for each key where the entropies
    of a group are equal (within `SAME`). Sums to 1 in the first case.
    """
    entropy_r = renyi(isolated(mass_rs, sinks), order)
    mixed_s = (vote(entropy_r, tau)[..., None] * mass_rs).sum(-2).float()
    alike = entropy_r.amax(-1) - entropy_r.amin(-1) <= SAME
    return torch.where(alike[..., None], mass_rs.amax(-2).float(), mixed_s)


class Masquerade(NamedTuple):
    """How much a sink head gains by its sink. See `masquerade`."""

    raw: torch.Tensor  # its weight over the context head's, sinks counted
    isolated: torch.Tensor  # the same without the sinks
    gain: torch.Tensor  # raw / isolated


def masquerade(mass_rs, tau=0.5, order=2, sinks=4):
    """What the sinks are worth to the head that rests on them most, [...] float64.

    In each group the sink head is the one with most, the context head the one with
    least mass on the first ``sinks`` keys. raw and isolated are the ratios of their
    weights by entropies with and without the sinks, and gain = raw / isolated: above 1
    the sink head passed for a concentrated one. Page-EntroKV prints weights that give
    2.10, 0.66 and so 3.2; it does not define the 13 of its abstract.
    """
    sink_r = mass_rs[..., :sinks].double().sum(-1)
    ends = torch.stack([sink_r.argmax(-1), sink_r.argmin(-1)], -1)

    def ratio(rows):
        entropy = renyi(rows, order).gather(-1, ends)
        return ((entropy[..., 1] - entropy[..., 0]) / tau).exp()

    raw, clean = ratio(mass_rs), ratio(isolated(mass_rs, sinks))
    return Masquerade(raw, clean, raw / clean)


def _require(sinks, tau, order):
    if sinks < 0:
        raise ValueError(f"sinks: {sinks}; need 0 or more keys")
    if not tau >= 0:
        raise ValueError(f"tau: {tau}; legal are 0 .. inf")
    if not order >= 0:
        raise ValueError(f"order: {order}; legal are 0 .. inf")
