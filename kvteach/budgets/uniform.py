"""The same number of keys for every head."""

from dataclasses import dataclass
from typing import ClassVar

from kvteach.budgets.topk import keys_per_head, top_k


@dataclass(frozen=True)
class Uniform:
    """Every head keeps its ``entries`` best keys.

    Held: exactly min(entries, S) keys in every head, so a plain tensor stores them.
    """

    scope: ClassVar[str] = "layer"

    def __call__(self, scores, entries, layers, depth):
        """scores: a list of [K, S]; returns a list of [K, S] bool.

        Raises ValueError for too small a budget.
        """
        return [top_k(score, keys_per_head(entries, score)) for score in scores]
