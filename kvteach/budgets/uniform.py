"""The same number of keys for every head."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from kvteach.budgets.topk import keys_per_head, top_k


@dataclass(frozen=True)
class Uniform:
    """Every head keeps its ``entries`` best keys.

    Held: exactly min(entries, S) keys in every head, so a plain tensor stores them.

    sinks: so many first keys stay, inside ``entries``, whatever their scores; for rules
    whose scores must stay finite there. Raises ValueError for a negative number.
    """

    sinks: int = 0
    scope: ClassVar[str] = "layer"

    def __post_init__(self):
        if self.sinks < 0:
            raise ValueError(f"sinks: {self.sinks}; legal is 0 and above")

    def __call__(self, scores, entries, layers, depth):
        """scores: a list of [K, S]; returns a list of [K, S] bool.

        Raises ValueError for too small a budget.
        """
        first = [self._forced(score) for score in scores]
        return [top_k(score, keys_per_head(entries, score)) for score in first]

    def _forced(self, score):
        position = torch.arange(score.shape[-1], device=score.device)
        return score.masked_fill(position < self.sinks, torch.inf)
