"""The published pool: which keys compete with the heaviest ones when sets are tried.

"Trust the Mass" (arXiv 2608.25230), definition 2.2 and appendix B.2.
"""

import math

import torch

from kvteach.rows.error import as_row

POOL_LIMIT = 200_000
"""Subsets that the published enumeration was willing to try."""

MOST_EXTRAS = 24
UNENUMERATED = 64
"""From this size on nothing is enumerated, and `MOST_EXTRAS` keys may enter by swaps."""


def published_extras(size):
    """How many keys compete with the top-mass set: 24, 12, 6, 4 for s = 4, 8, 16, 32.

    The largest m <= 24 with at most `POOL_LIMIT` subsets of size + m keys. The rule
    is ours; it reproduces every published pool size.
    """
    if size >= UNENUMERATED:
        return MOST_EXTRAS
    counts = range(MOST_EXTRAS + 1)
    return max(m for m in counts if math.comb(size + m, size) <= POOL_LIMIT)


def published_pool(p, v, size, extras=None):
    """Indices of the keys that may be kept, [..., size + extras] int64.

    The top-mass set first, heaviest first, then the keys outside it with the
    largest ||Gamma_j|| = p_j ||v_j - mu||. p: [..., S]; v: [..., S, D]; extras:
    `published_extras` by default. Ties go to the smaller index; a short row gives
    all its keys. Cost O(S D). Raises ValueError for a size < 1 or negative extras.
    """
    p, v = as_row(p, v)
    if size < 1:
        raise ValueError(f"size: {size} is no number of keys; need an integer >= 1")
    extras = published_extras(size) if extras is None else extras
    if extras < 0:
        raise ValueError(f"extras: {extras} is negative; need >= 0")
    length = p.shape[-1]
    order = p.argsort(dim=-1, descending=True, stable=True)
    top = order[..., : min(size, length)]
    mu = p.unsqueeze(-2) @ v
    pull = p * torch.linalg.vector_norm(v - mu, dim=-1)
    others = pull.scatter(-1, top, -1.0).argsort(dim=-1, descending=True, stable=True)
    return torch.cat([top, others[..., : min(extras, length - top.shape[-1])]], dim=-1)
