"""What deployed selectors keep of one row, at the budget they are audited at.

The signature is that of `kvteach.rows.select`, with two more pieces of evidence:

    q       [D]     the query of the row
    past_p  [n, S]  weights of the last n rows up to and including this one, 0 on
                    keys that a row could not see

"Trust the Mass" (arXiv 2608.25230), appendix C, audits these rules two ways: a rule
may choose anew for every row (per query), or one choice serves all later rows
(cache-faithful); call it on the row that the choice is made at. Window lengths and
page sizes shrink with the budget as published there.
"""

import torch

from kvteach.rows.error import as_row
from kvteach.rows.select import _largest, top_mass

SNAPKV_WINDOW = 32
SNAPKV_KERNEL = 7
SINKS = 4


def streaming(p, size, **_):
    """StreamingLLM: min(4, s/2) first keys and the most recent ones."""
    p, _none = as_row(p)
    sinks = min(SINKS, size // 2)
    return _forced(len(p), size, first=sinks, last=size - sinks)


def h2o(p, size, *, past_p, **_):
    """H2O: half the budget for the most mass received so far, half for recency.

    past_p must hold every row since the first, or the sums are not the rule's.
    """
    p, _none = as_row(p)
    recent = size // 2
    return _fill(past_p.sum(0), size, last=recent)


def snapkv(p, size, *, past_p, **_):
    """SnapKV: the window's mean weights, max-pooled over 7 keys; the window stays.

    Window max(1, min(32, s/2)) rows, which are the last of ``past_p``.
    """
    p, _none = as_row(p)
    window = max(1, min(SNAPKV_WINDOW, size // 2))
    if len(past_p) < window:
        raise ValueError(f"past_p: {len(past_p)} rows, but the window has {window}")
    mean = past_p[-window:].mean(0)
    pooled = torch.nn.functional.max_pool1d(
        mean[None], SNAPKV_KERNEL, stride=1, padding=SNAPKV_KERNEL // 2
    )[0]
    return _fill(pooled, size, last=window)


def quest(p, size, *, q, k, page=None, **_):
    """Quest: whole pages by an upper bound of q.k, the last page cut to the budget.

    The bound of a page is sum_d max(q_d min_d, q_d max_d) over its keys' extremes.
    page: keys a page, max(2, s/4) as published; pages are kept in order of bound
    until ``size`` keys are held, of the last one the earliest keys.
    """
    p, k = as_row(p, k)
    page = max(2, size // 4) if page is None else page
    page_of = torch.arange(len(p)) // page
    index = page_of[:, None].expand_as(k)
    unseen = k.new_full((int(page_of[-1]) + 1, k.shape[1]), torch.inf)
    low = unseen.scatter_reduce(0, index, k, "amin")
    high = (-unseen).scatter_reduce(0, index, k, "amax")
    bounds = torch.maximum(q * low, q * high).sum(-1)
    return _largest(bounds[page_of], size)


RULES = {
    "streaming": streaming,
    "h2o": h2o,
    "snapkv": snapkv,
    "quest": quest,
    "tova": top_mass,  # per query it keeps the largest weights of the row
}


def _forced(length, size, first=0, last=0):
    """Mask with the ``first`` and ``last`` keys kept."""
    if not 1 <= size <= length:
        raise ValueError(f"size: {size} is outside 1 .. {length}, the row's keys")
    kept = torch.zeros(length, dtype=torch.bool)
    kept[:first], kept[length - last :] = True, True
    return kept


def _fill(score, size, last):
    """Keep the last keys, and the rest of the budget by score."""
    kept = _forced(len(score), size, last=last)
    return _largest(score.masked_fill(kept, torch.inf), size)
