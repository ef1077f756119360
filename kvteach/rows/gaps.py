"""How many keys hold the mass of a row, read off the gaps between its logits.

Sort the logits of a row, l(1) >= l(2) >= ... >= l(n). The gap profile

    G(j) = l(1) - l(j),   j = 1 .. n

says everything about the weights: the j-th heaviest is e^-G(j) / sum_i e^-G(i).
The count that a row needs for all but a share eta of its mass is

    K_eta = min {k : the k heaviest keys hold at least 1 - eta}

Everything computes in float64 and takes leading batch dimensions: logits and gaps
are [..., S], a -inf logit (gap inf) is a key that the row cannot see.
The profile, the theorem around G = gamma log j and the Gaussian limit follow
"Beyond Sparse Weights: When Is Attention Compressible?" (arXiv 2608.21541),
Theorem 3.6; formulas that the public summaries leave out are derived here.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from scipy import stats


class Line(NamedTuple):
    """G(j) ~ ``gamma`` log j + ``offset``, ``residual`` nats off in root mean square."""

    gamma: torch.Tensor
    offset: torch.Tensor
    residual: torch.Tensor


def profile(logits):
    """G(j) = l(1) - l(j), [..., S], ascending from 0.

    logits: [..., S]; log weights do as well, since a row's constant cancels.
    Invisible keys (-inf) end up last, with gap inf. Cost O(S log S) a row.
    Raises ValueError for NaN, +inf and a row without a visible key.
    """
    logits = torch.as_tensor(logits, dtype=torch.float64)
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(f"logits: shape {tuple(logits.shape)}; need [..., S], S >= 1")
    if logits.isnan().any() or (logits == torch.inf).any():
        raise ValueError("logits: some are NaN or +inf; need finite numbers or -inf")
    top = logits.amax(-1, keepdim=True)
    if (top == -torch.inf).any():
        raise ValueError("logits: a row has no visible key")
    return top - logits.sort(-1, descending=True).values


def weights(gaps):
    """The row's weights in descending order, e^-G(j) / sum_i e^-G(i): [..., S]."""
    return (-_as_gaps(gaps)).softmax(-1)


def top_mass(gaps):
    """Mass of the k heaviest keys for every k = 1 .. S, [..., S].

        mass(k) = sum_{j <= k} e^-G(j) / sum_j e^-G(j)

    Ascending to 1. Cost O(S) a row. Raises ValueError for gaps that are no profile.
    """
    return 1 - _tails(weights(gaps))


def keys_for_mass(gaps, eta):
    """K_eta, the fewest keys that hold at least 1 - eta of the mass.

    gaps: [..., S]; eta: a number in [0, 1) or a list of n. Returns int64 [...] for a
    number, [..., n] for a list. eta = 0 counts the keys of positive weight. Cost
    O(S + n log S) a row. Tails are summed from the light end, so that an eta of
    1e-12 is still decided correctly. Raises ValueError for eta outside [0, 1).
    """
    shares = torch.as_tensor(eta, dtype=torch.float64)
    if shares.ndim > 1 or not ((shares >= 0) & (shares < 1)).all():
        raise ValueError(f"eta: {eta}; need numbers in [0, 1)")
    tails = _tails(weights(gaps))
    light_first = tails.flip(-1).contiguous()
    asked = shares.reshape(-1).expand(*tails.shape[:-1], -1).contiguous()
    small_enough = torch.searchsorted(light_first, asked, right=True)
    counts = tails.shape[-1] - small_enough + 1
    return counts if shares.ndim else counts[..., 0]


def count_above(gaps, threshold=None):
    """How many weights are at least ``threshold``, [...] int64: a count that misleads.

    The default threshold is 1 / ln n, n the visible keys: at most ln n weights of
    ANY row can reach it, because they sum to 1. Such a count is small for rows
    whose mass is spread over most of their keys, too. Raises ValueError for a
    threshold outside (0, 1].
    """
    gaps = _as_gaps(gaps)
    if threshold is None:
        visible = gaps.isfinite().sum(-1, keepdim=True)
        threshold = 1 / visible.clamp_min(3).double().log()
    elif not 0 < threshold <= 1:
        raise ValueError(f"threshold: {threshold}; need a weight in (0, 1]")
    return (weights(gaps) >= threshold).sum(-1)


# --- power laws: G(j) = gamma log j -----------------------------------------


def power_law(gamma, length):
    """G(j) = gamma log j for j = 1 .. length, [length]: weights fall as j^-gamma."""
    return gamma * torch.arange(1, length + 1, dtype=torch.float64).log()


def power_law_keys(gamma, eta, length):
    """About K_eta of G = gamma log j, without the row: a float, off by about 1.

    With sum_{j <= k} j^-g = zeta(g) + k^(1 - g) / (1 - g) + O(k^-g), g = gamma,

        gamma < 1:  k ~ n (1 - eta)^(1 / (1 - gamma))    a share of all keys
        gamma = 1:  k ~ n^(1 - eta) e^(-0.577 eta)       between the two
        gamma > 1:  k -> (eta (gamma - 1) zeta(gamma))^(-1 / (gamma - 1))    bounded

    and the zeta term kept where it does not vanish. Raises ValueError for a gamma
    outside (0, 1000), eta outside (0, 1) and length < 1.
    """
    if not 0 < gamma < 1000:
        raise ValueError(f"gamma: {gamma}; need a number in (0, 1000)")
    if not 0 < eta < 1 or length < 1:
        raise ValueError(f"eta, length: {eta}, {length}; need 0 < eta < 1, length >= 1")
    if gamma == 1:
        return length ** (1 - eta) * math.exp(-np.euler_gamma * eta)
    power = 1 - gamma
    # power * sum = k^power + power * zeta, for k keys and for all of them.
    needed = (1 - eta) * length**power - eta * power * _zeta(gamma)
    return needed ** (1 / power)


def most_keys(gamma, offset, eta):
    """K_eta is at most this where G(j) >= gamma log j - offset, gamma > 1: no n in it.

    The tail beyond k is at most e^offset k^(1 - gamma) / (gamma - 1), and the
    heaviest key alone weighs 1 of the sum. Raises ValueError for gamma <= 1 and eta
    outside (0, 1).
    """
    if not gamma > 1 or not 0 < eta < 1:
        raise ValueError(f"gamma, eta: {gamma}, {eta}; need gamma > 1, 0 < eta < 1")
    log_keys = (offset - math.log(eta * (gamma - 1))) / (gamma - 1)
    return max(1, math.ceil(math.exp(log_keys))) if log_keys < 700 else math.inf


def least_keys(gamma, offset, eta, length):
    """K_eta is at least this where G(j) <= gamma log j + offset, 0 <= gamma < 1.

    c n^(1 - gamma): k keys weigh at most k, all keys at least
    e^-offset ((n + 1)^(1 - gamma) - 1) / (1 - gamma). Raises ValueError for a gamma
    outside [0, 1).
    """
    if not 0 <= gamma < 1:
        raise ValueError(f"gamma: {gamma}; need 0 <= gamma < 1")
    power = 1 - gamma
    return (1 - eta) * math.exp(-offset) * ((length + 1) ** power - 1) / power


def fit_line(gaps, first=1, last=None):
    """Least squares of G(j) on log j over the ranks first .. last: a `Line` of [...].

    Rank j has weight 1 / j, so that every octave of ranks counts alike; else the
    thousands of light keys would decide. A real profile is no straight line: look
    at the residual, and fit two ranges before believing one gamma. ``last`` None
    is the last rank. Raises ValueError for an empty range and for gaps that are
    not finite there.
    """
    gaps = _as_gaps(gaps)
    last = gaps.shape[-1] if last is None else last
    longest = gaps.shape[-1]
    if not 1 <= first < last <= longest:
        raise ValueError(f"first, last: {first}, {last}; need 1 <= both <= {longest}, rising")
    gaps = gaps[..., first - 1 : last]
    if not gaps.isfinite().all():
        raise ValueError("gaps: some ranks of the range are invisible keys")
    ranks = torch.arange(first, last + 1, dtype=torch.float64, device=gaps.device)
    share = (1 / ranks) / (1 / ranks).sum()
    centred = ranks.log() - (share * ranks.log()).sum()
    gamma = (share * centred * gaps).sum(-1) / (share * centred**2).sum()
    mean = (share * gaps).sum(-1)
    off = gaps - mean.unsqueeze(-1) - gamma.unsqueeze(-1) * centred
    offset = mean - gamma * (share * ranks.log()).sum()
    return Line(gamma, offset, (share * off**2).sum(-1).sqrt())


def growth_exponent(lengths, counts):
    """Slope of log counts on log lengths: 0 where K_eta is bounded, 1 where a share.

    lengths: [n] of at least two different numbers; counts: [..., n] >= 1.
    Returns float64 [...]. Raises ValueError for anything else.
    """
    lengths = torch.as_tensor(lengths, dtype=torch.float64)
    counts = torch.as_tensor(counts, dtype=torch.float64)
    if lengths.ndim != 1 or len(lengths.unique()) < 2 or not (lengths > 0).all():
        raise ValueError(f"lengths: {lengths.tolist()}; need two different numbers > 0")
    if counts.ndim == 0 or counts.shape[-1] != len(lengths) or not (counts >= 1).all():
        raise ValueError(f"counts: need [..., {len(lengths)}] numbers >= 1")
    x = lengths.log() - lengths.log().mean()
    return (x * counts.log()).sum(-1) / (x**2).sum()


# --- Gaussian logits --------------------------------------------------------


def gaussian_share(sigma, eta):
    """K_eta / n of many independent Gaussian logits of standard deviation sigma.

        K_eta / n -> Phi(Phi^-1(1 - eta) - sigma)

    A constant share of the keys, however small the largest weights make it look.
    Why: weighting N(0, sigma^2) by e^l moves its mean to sigma^2, so the keys above
    a level t hold Phi(sigma - t / sigma) of the mass and are Phi(-t / sigma) of the
    keys. Numbers or arrays. Raises ValueError for sigma < 0 and eta outside (0, 1).
    """
    sigma, eta = np.asarray(sigma, dtype=float), np.asarray(eta, dtype=float)
    if not (sigma >= 0).all():
        raise ValueError(f"sigma: {sigma}; need standard deviations >= 0")
    if not ((eta > 0) & (eta < 1)).all():
        raise ValueError(f"eta: {eta}; need numbers in (0, 1)")
    return stats.norm.cdf(stats.norm.ppf(1 - eta) - sigma)


# --- helpers ----------------------------------------------------------------


def _as_gaps(gaps):
    """Gaps in float64, or ValueError where they are no profile."""
    gaps = torch.as_tensor(gaps, dtype=torch.float64)
    if gaps.ndim == 0 or gaps.shape[-1] == 0:
        raise ValueError(f"gaps: shape {tuple(gaps.shape)}; need [..., S], S >= 1")
    steps_up = (gaps[..., 1:] >= gaps[..., :-1]).all()
    if not steps_up or not (gaps[..., 0] == 0).all():
        raise ValueError("gaps: need 0 first, then ascending, as from profile(logits)")
    return gaps


def _tails(p):
    """Mass beyond the k heaviest keys for k = 1 .. S, [..., S]; the last is 0."""
    from_light = p.flip(-1).cumsum(-1).flip(-1)
    return torch.cat([from_light[..., 1:], torch.zeros_like(p[..., :1])], -1)


def _zeta(s, terms=1000):
    """Riemann's zeta for real s > 0, s != 1, by Euler and Maclaurin; error < 1e-12."""
    body = (np.arange(1, terms, dtype=float) ** -s).sum()
    edge = terms ** (1 - s) / (s - 1) + terms**-s / 2 + s * terms ** (-s - 1) / 12
    return body + edge
