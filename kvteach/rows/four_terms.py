"""What an eviction may cost a row, from the distribution that chose it: four terms.

A compressor keeps keys by a distribution pi_theta that a small network predicts. It was
taught by pi_T, which is pi_u, a softmax of utilities, spread out for coverage; and none
of them is the row p that will be attended with. The error of the row is exactly
p(E) (m_E - m_A). Walking from pi_theta to p, a step at a time, bounds p(E):

    p(E) <= pi_theta(E) + TV(pi_theta, pi_T) + TV(pi_T, pi_u) + TV(pi_u, p)
            excluded      allocation           coverage         utility

The names are those of "CORE" (arXiv 2610.02235), whose theorem is not public; the
formula is a reconstruction. Total variation counts mass that moves anywhere, though
only what arrives on evicted keys can hurt: that part of each term, our own, bounds p(E)
too.
Everything takes leading batch dimensions, in float64.
"""

from typing import NamedTuple

import torch

from kvteach.rows import error
from kvteach.rows.error import as_kept, as_row

TERMS = "excluded", "allocation", "coverage", "utility"


class Certificate(NamedTuple):
    """What is promised of a row, and what happened to it; each entry is [...]."""

    terms: torch.Tensor  # [..., 4] in the order of `TERMS`
    steps: torch.Tensor  # [..., 4] what each is on E itself, signed; they sum to p(E)
    gap: torch.Tensor  # ||m_E - m_A||
    bound: torch.Tensor  # gap times the smaller of 1 and the sum of terms
    error: torch.Tensor  # ||mu - m_A||, never above the bound
    looseness: torch.Tensor  # bound / error; inf where the error is 0
    arriving: torch.Tensor  # [..., 4] what each step brings to keys of E; <= terms
    sharper: torch.Tensor  # gap times their sum, between error and bound


def signed_error(p, v, kept):
    """mu - m_A = p(E) (m_E - m_A), as a vector [..., D]: the error with its direction.

    Computed from the right-hand side, the two factors, so that comparing it with
    dense_output - forced_output tests the identity. Cost O(S D).
    """
    gap = error.evicted_output(p, v, kept) - error.forced_output(p, v, kept)
    return error.dropped_mass(p, kept)[..., None] * gap


def certificate(p, v, kept, student, teacher, utility):
    """The four terms of a row, the bound that they give, and the true error.

    p: [..., S] the row's weights; v: [..., S, D]; kept: [..., S] bool; student,
    teacher, utility: [..., S] the distributions pi_theta, pi_T, pi_u over the same keys.
    A key that was not a candidate, such as one read after the eviction, has probability
    0 in them. Leading dimensions broadcast. Returns `Certificate`. Cost O(S D) a row.

    Raises ValueError for what is no row, no distribution, or keeps no mass.
    """
    p, v = as_row(p, v)
    kept = as_kept(kept, p, v)
    walk = [_distribution(n, x, p) for n, x in
            (("student", student), ("teacher", teacher), ("utility", utility))]
    walk.append(p)
    evicted = [(pi * ~kept).sum(-1) for pi in walk]
    steps = [evicted[0], *(b - a for a, b in zip(evicted, evicted[1:]))]
    terms = [evicted[0], *(total_variation(a, b) for a, b in zip(walk, walk[1:]))]
    arriving = [evicted[0]]
    arriving += [((b - a).clamp_min(0) * ~kept).sum(-1) for a, b in zip(walk, walk[1:])]
    terms, steps, arriving = (
        torch.stack(torch.broadcast_tensors(*x), -1) for x in (terms, steps, arriving)
    )
    made = error.factorization(p, v, kept)
    bound = made.centroid_gap * terms.sum(-1).clamp_max(1.0)
    looseness = torch.where(made.error > 0, bound / made.error, torch.inf)
    sharper = made.centroid_gap * arriving.sum(-1).clamp_max(1.0)
    return Certificate(
        terms, steps, made.centroid_gap, bound, made.error, looseness, arriving, sharper
    )


def total_variation(one, other):
    """TV = half the sum of |one - other|, [...]: no set's masses differ by more."""
    return 0.5 * (one - other).abs().sum(-1)


def by_divergence(one, other):
    """sqrt(KL(one || other) / 2) >= TV, [...] (Pinsker). inf where other lacks mass.

    With the teacher first and the student second, KL is what training makes small.
    """
    return (torch.special.xlogy(one, one / other).sum(-1).clamp_min(0.0) / 2).sqrt()


def by_oscillation(change):
    """tanh(osc / 4) >= TV of two softmaxes whose logits differ by ``change``, [...].

    osc = max - min of the change [..., S]. Equal where half of the mass moves up by
    all of osc and the other half does not.
    """
    return ((change.amax(-1) - change.amin(-1)) / 4).tanh()


def _distribution(name, weights, p):
    try:
        weights, _ = as_row(weights)
    except ValueError as wrong:
        raise ValueError(f"{name}: {wrong}") from None
    if weights.shape[-1] != p.shape[-1]:
        raise ValueError(
            f"{name}: over {weights.shape[-1]} keys; the row has {p.shape[-1]}"
        )
    return weights
