"""Ada-KV: the heads of a layer share one budget."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from kvteach.budgets.topk import keys_per_head, pooled_top_k, top_k


@dataclass(frozen=True)
class AdaKV:
    """A safe share for every head, the rest by one ranking over the layer's heads.

    With n = min(entries, S): each head keeps its max(1, floor(alpha n)) best keys
    (none for alpha = 0); then the best of all other keys of the layer follow until
    K n are kept. alpha = 1 is uniform. Held: exactly K n keys in a layer, ragged.

    Source: Feng et al., Ada-KV, as in kvpress 0.5.5 (alpha .2). The authors' code
    has a share of .5 and uses it otherwise: it blends the head counts of a pooled
    ranking with uniform ones. Raises ValueError for alpha outside 0 .. 1 and for
    too small a budget.
    """

    alpha: float = 0.2
    scope: ClassVar[str] = "layer"

    def __post_init__(self):
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha: {self.alpha}; legal are 0 .. 1")

    def __call__(self, scores, entries, layers, depth):
        """scores: a list of [K, S], one a layer; returns a list of [K, S] bool."""
        return [self.of_layer(score, keys_per_head(entries, score)) for score in scores]

    def of_layer(self, score, mean):
        """The kept set of one layer, ``mean`` keys a head on average."""
        safe = int(self.alpha * mean)
        if self.alpha > 0 and mean > 0:
            safe = max(1, safe)
        with_safe = score.masked_fill(top_k(score, safe), torch.inf)
        return pooled_top_k(with_safe, score.shape[0] * mean)
