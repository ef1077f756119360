"""PyramidKV: many keys in the first layers, few in the last."""

from dataclasses import dataclass
from math import floor
from typing import ClassVar

from kvteach.budgets.topk import keys_per_head, must_stay, top_k


@dataclass(frozen=True)
class PyramidKV:
    """A budget that falls linearly with the layer, the same for all heads of one.

    With c = ``entries``, the first layer gets 2c - c / beta and the last c / beta.
    With w keys that must stay (score +inf): where the first would get more than
    S - w, it gets S - w and the last 2c - (S - w); where the last would get fewer
    than w, every layer gets c.

    Source: Cai et al., PyramidKV, as in kvpress 0.5.5, which rounds every layer for
    itself, so that the total may pass L c. Here the running total is rounded down:
    exactly L c keys a head, each layer within one key of the ramp. ``as_published``
    rounds as kvpress does.

    layers: places among the ``depth`` layers that are compressed, from 0.
    Raises ValueError for beta < 1 and for too small a budget.
    """

    beta: float = 20
    as_published: bool = False
    scope: ClassVar[str] = "layer"

    def __post_init__(self):
        if not self.beta >= 1:
            raise ValueError(f"beta: {self.beta}; legal is 1 and above")

    def __call__(self, scores, entries, layers, depth):
        """scores: a list of [K, S], one a layer; returns a list of [K, S] bool."""
        kept = []
        for score, layer in zip(scores, layers):
            mean, forced = keys_per_head(entries, score), must_stay(score)
            count = self.count(mean, score.shape[-1], forced, layer, depth)
            kept.append(top_k(score, count))
        return kept

    def ramp(self, entries, length, forced, depth):
        """(first layer's keys, what each further layer has less), real numbers."""
        last = entries / self.beta
        first = 2 * entries - last
        if first >= length - forced:
            first = length - forced
            last = 2 * entries - first
        if depth == 1 or not first >= last >= forced:
            return entries, 0.0
        return first, (first - last) / (depth - 1)

    def count(self, entries, length, forced, layer, depth):
        """Keys per head of one layer."""
        first, step = self.ramp(entries, length, forced, depth)
        if self.as_published:
            return round(first - layer * step)

        def before(n):
            """Keys per head of the first n layers, rounded down."""
            return floor(n * first - step * n * (n - 1) / 2 + 1e-6)

        return before(layer + 1) - before(layer)
