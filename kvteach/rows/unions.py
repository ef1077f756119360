"""What a group of heads holds when each chooses for itself.

Query heads of a group share one key-value head, and KV heads of a layer may share one
block table. If every head picks its own s of S keys, the shared memory holds the union.
Sets are boolean masks [..., R, S]: R heads that share, S keys (or pages). Bounds and
identity follow Page-EntroKV (arXiv 2610.03135), theorem 1 and corollary 1; the proofs
are in chapter 15.
"""

from typing import NamedTuple

import torch


class Bounds(NamedTuple):
    """Numbers that a union overhead lies between. See `sandwich` and `bonferroni`."""

    lower: torch.Tensor
    upper: torch.Tensor


def union_overhead(kept_rs):
    """UOR: keys in the union over keys of one head, [...] float64, 1 .. R.

    |K_1 | ... | K_R| / s, with s the mean size where sizes differ. kept_rs: bool
    [..., R, S]. Cost O(R S). Raises ValueError for another dtype and for heads that
    all keep nothing. Over pages of a layer's KV heads this is PUR, see
    `page_union_ratio`.
    """
    kept_rs = _sets(kept_rs)
    size = kept_rs.sum(-1).double().mean(-1)
    if (size == 0).any():
        raise ValueError("kept_rs: no head of a group keeps anything; need one key or more")
    return kept_rs.any(-2).sum(-1) / size


def jaccard(kept_rs):
    """J of every pair of heads, |K & K'| / |K | K'|, [..., R, R] float64.

    1 on the diagonal. Two empty sets agree: 1. Cost O(R R S).
    """
    kept_rs = _sets(kept_rs)
    ones = kept_rs.float()  # whole numbers up to 2^24 are exact in float32
    common = (ones @ ones.mT).double()
    size = kept_rs.sum(-1).double()
    union = size[..., :, None] + size[..., None, :] - common
    return torch.where(union == 0, 1.0, common / union.clamp_min(1))


def mean_jaccard(kept_rs):
    """Mean J over the R (R - 1) / 2 pairs of a group, [...]; ValueError for R = 1."""
    return pairs(kept_rs).mean(-1)


def disagreement(kept_rs):
    """Mean pairwise Jaccard distance of a group, 1 - mean J, [...], 0 .. 1."""
    return 1 - mean_jaccard(kept_rs)


def pairs(kept_rs):
    """J of each pair of different heads once, [..., R (R - 1) / 2]."""
    heads = _sets(kept_rs).shape[-2]
    if heads < 2:
        raise ValueError(f"kept_rs: groups of {heads} head; pairs need 2 or more")
    one, other = torch.triu_indices(heads, heads, 1, device=kept_rs.device)
    return jaccard(kept_rs)[..., one, other]


def two_head_overhead(distance):
    """UOR of two heads from their Jaccard distance D: exactly 2 / (2 - D).

    |K | K'| + |K & K'| = 2 s and |K & K'| = J |K | K'|, so UOR = 2 / (1 + J).
    """
    return 2 / (2 - torch.as_tensor(distance, dtype=torch.float64))


def sandwich(jaccard_p, heads):
    """Lower and upper bound on UOR from all pairs' J, for heads that keep equally many.

        R / (1 + 2 (R-1) J / (1+J))  <=  UOR  <=  min(R, R - max over pairs 2J / (1+J))

    with the mean J on the left. jaccard_p: [..., pairs], see `pairs`. The left side is
    Cauchy-Schwarz on how many heads want a key; the right side counts what the best
    pair has in common once instead of twice.
    """
    jaccard_p = torch.as_tensor(jaccard_p, dtype=torch.float64)
    mean = jaccard_p.mean(-1)
    common = (2 * jaccard_p / (1 + jaccard_p)).amax(-1)
    lower = heads / (1 + 2 * (heads - 1) * mean / (1 + mean))
    return Bounds(lower, (heads - common).clamp_max(heads))


def bonferroni(mean, heads):
    """The elementary lower bound on UOR, max(1, R - R (R - 1) J) with the mean J."""
    mean = torch.as_tensor(mean, dtype=torch.float64)
    return (heads - heads * (heads - 1) * mean).clamp_min(1)


def certifies_two(heads):
    """Largest mean J at which (sandwich, bonferroni) promise UOR >= 2.

    (R - 2) / (3R - 2) and (R - 2) / (R (R - 1)): both 0 for R = 2, where only disjoint
    sets double. Raises ValueError for R < 2.
    """
    if heads < 2:
        raise ValueError(f"heads: {heads}; need 2 or more")
    return (heads - 2) / (3 * heads - 2), (heads - 2) / (heads * (heads - 1))


def pages_of(kept_s, page):
    """Pages with a kept key, [..., S] bool to [..., N] bool, N = ceil(S / page).

    Raises ValueError for a page below 1.
    """
    if page < 1:
        raise ValueError(f"page: {page}; need 1 token or more")
    kept_s = _bool(kept_s)
    count = -(-kept_s.shape[-1] // page)
    whole = torch.nn.functional.pad(kept_s, (0, count * page - kept_s.shape[-1]))
    return whole.unflatten(-1, (count, page)).any(-1)


def page_union_ratio(kept_ks, page):
    """PUR of a layer: pages that some head wants over the pages of one head, [...].

    kept_ks: bool [..., K, S], what each of the K heads keeps. Between 1 and K: what a
    block table that all heads of a layer share holds over tables of their own.
    """
    return union_overhead(pages_of(kept_ks, page))


def _sets(kept_rs):
    kept_rs = _bool(kept_rs)
    if kept_rs.ndim < 2 or 0 in kept_rs.shape[-2:]:
        raise ValueError(f"kept_rs: shape {list(kept_rs.shape)}; need [..., R, S], R, S >= 1")
    return kept_rs


def _bool(kept):
    if not isinstance(kept, torch.Tensor) or kept.dtype != torch.bool:
        raise ValueError(f"kept: {getattr(kept, 'dtype', type(kept))}; need a bool tensor")
    return kept
