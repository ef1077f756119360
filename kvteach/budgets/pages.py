"""Whole pages: what a paged cache can really free.

A serving engine gives memory back a page at a time, so a set of scattered keys frees
nothing. Here a page is worth what its best key is worth, and pages go or stay whole.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch

from kvteach.budgets.topk import keys_per_head, largest_remainder, top_k

PROJECTIONS = ("max", "mean")


@dataclass(frozen=True)
class WholePages:
    """Every KV head of a layer keeps its K_l best pages of ``page`` tokens.

    A page's score is that of its best key (``project`` "max"), or the mean over its
    keys, which buries one needle among ``page`` - 1 others. K_l comes from
    `pages_per_layer`: the budget of all layers, in pages, divided by largest remainder.
    Pages with a key that must stay (score +inf) go first. The last page of a text holds
    what is left of it and counts with its true length.

    Held: at most L K ``entries`` keys in all, and less than a page a KV head short of it
    where the last page stays, as it does in the engine; `account` gives the number. One
    layer may hold up to a page a head more than ``entries``. The query heads of a group
    share what their KV head keeps, so their union overhead is 1.

    Source: Page-EntroKV (arXiv 2610.03135), equations 22 and 23 and proposition 3.
    Deviation: the paper counts a partial page as a whole one. Raises ValueError for a
    page below 1, another projection, and where pages with keys that must stay do not fit.
    """

    page: int = 16
    project: str = "max"
    scope: ClassVar[str] = "layer"

    def __post_init__(self):
        _require_page(self.page)
        if self.project not in PROJECTIONS:
            raise ValueError(f"project: {self.project!r}; legal are {', '.join(PROJECTIONS)}")

    def __call__(self, scores, entries, layers, depth):
        """scores: a list of [K, S], one a layer; returns a list of [K, S] bool.

        layers: places among the ``depth`` layers that are compressed, from 0.
        """
        return [
            self.of_layer(score, keys_per_head(entries, score), layer, depth)
            for score, layer in zip(scores, layers)
        ]

    def of_layer(self, score, entries, layer, depth):
        """The kept set of one layer."""
        length = score.shape[-1]
        if entries == length:
            return torch.ones_like(score, dtype=torch.bool)
        score_kn = page_scores(score, self.page, self.project)
        forced_kn = score_kn.isposinf()
        stays = bool(forced_kn[:, -1].all())  # the last page, in every head
        count = int(pages_per_layer(entries, length, self.page, depth, stays)[layer])
        need = int(forced_kn.sum(-1).max())
        if need > count:
            raise ValueError(
                f"entries: {entries} keys per head give layer {layer} {count} pages of "
                f"{self.page}, where {need} must stay; legal are "
                f"{_enough(need, length, self.page, stays)} .. {length} keys per head"
            )
        return keys_of(top_k(score_kn, count), length, self.page)


# --- pages ------------------------------------------------------------------------


def page_scores(score, page, project="max"):
    """The worth of every page, [..., S] to [..., N], N = ceil(S / page).

    "max": of its best key. "mean": over the keys that it has. +inf stays +inf.
    """
    _require_page(page)
    length = score.shape[-1]
    whole = torch.nn.functional.pad(score, (0, -length % page), value=-torch.inf)
    paged = whole.unflatten(-1, (-1, page))
    if project == "max":
        return paged.amax(-1)
    total = paged.masked_fill(paged.isneginf(), 0).sum(-1)
    return total / page_lengths(length, page).to(score)


def page_lengths(length, page):
    """Tokens on each page of a text of ``length``, [N] int64: the last may hold fewer."""
    _require_page(page)
    starts = torch.arange(0, length, page)
    return (length - starts).clamp(max=page)


def keys_of(pages, length, page):
    """Keys on the kept pages, [..., N] bool to [..., S] bool."""
    return pages.repeat_interleave(page, -1)[..., :length]


# --- the budget -------------------------------------------------------------------


def pages_per_layer(entries, length, page, depth, last_stays=False):
    """K_l: pages that each KV head of layer l keeps, [depth] int64.

    Hamilton's rule: floor(L entries / page) pages for one head over all layers,
    everyone rounds down, what is left goes to the largest remainders; they are equal
    here, so to the first layers. last_stays: the last page is kept whatever its score;
    if it is partial, its true length is paid first and the rest buys whole pages.
    entries: keys per head, mean over layers, a whole number or not. Raises ValueError
    for entries outside 0 .. length.
    """
    _require_page(page)
    if not 0 <= entries <= length:
        raise ValueError(f"entries: {entries}; legal are 0 .. {length} keys per head")
    if entries == length:
        return torch.full((depth,), -(-length // page))
    partial = length % page if last_stays else 0
    if entries < partial:
        return torch.zeros(depth, dtype=torch.int64)
    total = int(depth * (entries - partial) / page + 1e-9)
    share = largest_remainder(torch.full((depth,), total / depth), total)
    return share + bool(partial)


class Account(NamedTuple):
    """A page budget in numbers. See `account`."""

    pages_l: torch.Tensor  # K_l, [L]
    least: int  # tokens, all layers and KV heads, if each head keeps the last page
    most: int  # the same if none does
    unused: int  # of the budget, at least


def account(entries, length, page, depth, heads, last_stays=False):
    """Exactly what a page budget holds, summed over ``depth`` layers of ``heads`` heads.

    A head that keeps K_l pages holds K_l page tokens, less what a partial last page is
    short of if it keeps that one. With ``last_stays``, or where ``page`` divides
    ``length``, least and most are one number, and it is L K entries exactly if
    page divides L (entries - length of the partial page). Never more than L K entries.
    """
    pages_l = pages_per_layer(entries, length, page, depth, last_stays)
    short, count = -length % page, -(-length // page)
    whole = int(pages_l.sum()) * page
    with_last = short * int((pages_l > 0).sum())
    must = short * int((pages_l == count).sum())  # who keeps all pages keeps the last
    least = heads * (whole - with_last)
    most = least if last_stays else heads * (whole - must)
    return Account(pages_l, least, most, int(depth * heads * entries + 1e-9) - most)


def _enough(need, length, page, stays):
    """Keys per head at which every layer gets ``need`` pages."""
    short = -length % page if stays else 0
    return min(need * page - short, length)


def _require_page(page):
    if isinstance(page, bool) or not isinstance(page, int) or page < 1:
        raise ValueError(f"page: {page!r}; legal are whole numbers 1 and above")
