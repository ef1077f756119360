"""The largest scores, with ties that fall the same way on every machine.

``torch.topk`` promises no order among equal scores. Scores do tie: softmax weights
underflow to 0, pooled scores repeat. Here the smaller position wins, always.
"""

from numbers import Integral

import torch


def top_k(score, count):
    """Mark the ``count`` largest scores of every row: [..., S] -> [..., S] bool.

    Of equal scores the smaller position comes first. count: int or [...] integers,
    each 0 .. S. Cost of one stable sort. Raises ValueError for NaN or another count.
    """
    count = torch.as_tensor(count, device=score.device)
    length = score.shape[-1]
    if score.isnan().any():
        bad = int(score.isnan().sum())
        raise ValueError(f"score: {bad} of {score.numel()} are NaN")
    if (count < 0).any() or (count > length).any():
        raise ValueError(f"count: {count.tolist()}; legal are 0 .. {length}")
    order = score.argsort(dim=-1, descending=True, stable=True)
    place = torch.arange(length, device=score.device).expand_as(order)
    rank = torch.empty_like(order).scatter_(-1, order, place)
    return rank < count[..., None]


def pooled_top_k(score, count):
    """Mark the ``count`` largest of all scores together: [..., S] -> [..., S] bool.

    One ranking over layers, heads and positions. Of equal scores the smaller
    position comes first, then the earlier layer, then the earlier head: heads that
    all tie share the budget evenly. Raises ValueError as `top_k` does.
    """
    by_position = score.movedim(-1, 0)
    kept = top_k(by_position.reshape(-1), count)
    return kept.view(by_position.shape).movedim(0, -1).contiguous()


def keys_per_head(entries, *scores):
    """``entries``, or S where that is less: the keys a head may keep on average.

    Raises ValueError where it is no whole number, where the scores differ in
    shape, or where a head has more keys that must stay (score +inf) than that.
    """
    shapes = {tuple(score.shape) for score in scores}
    if len(shapes) != 1:
        raise ValueError(f"scores: shapes {sorted(shapes)}; need one shape [K, S]")
    length = scores[0].shape[-1]
    floor = max(must_stay(score) for score in scores)
    whole = isinstance(entries, Integral) and not isinstance(entries, bool)
    if not whole or entries < floor:
        raise ValueError(
            f"entries: {entries!r} keys per head; {floor} must stay, legal are whole "
            f"numbers from {floor} on"
        )
    return min(int(entries), length)


def must_stay(score):
    """The most keys that any head must keep, those of score +inf."""
    return int(score.isposinf().sum(-1).max()) if score.numel() else 0


def largest_remainder(quotas, total):
    """Whole numbers next to the quotas, with exactly this sum.

    Every quota is rounded down; what is left of ``total`` goes, one each, to the
    largest fractions, of equal ones to the earlier. quotas: any shape, >= 0,
    summing to ``total`` up to rounding; total: int. Returns int64 of that shape.
    """
    quotas = quotas.double()
    # A sum that is whole in mathematics may come out just below.
    counts = (quotas + 1e-9).floor()
    left = total - int(counts.sum())
    more = top_k((quotas - counts).reshape(-1), left).view(quotas.shape)
    return counts.long() + more
