"""HeadKV: heads that are known to retrieve or reason get more keys."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from kvteach.budgets.topk import keys_per_head, largest_remainder, must_stay, top_k


@dataclass(frozen=True, eq=False)
class HeadKV:
    """A budget for each head in proportion to an importance that was measured before.

    With n = min(entries, S), w keys that must stay (score +inf), base = n - w and
    share = floor(base / beta): head (l, k) keeps

        w + base - share + importance[l, k] / (sum of importances) * share L K

    keys. A small beta gives everything to important heads, a large one is uniform.
    Nobody can keep more than S: what is above goes to the other heads, again by
    importance. Whole numbers come by largest remainders, so the total is exactly
    n L K. The published code rounds every head for itself and cuts at S
    (``as_published``): its total may be off by half a key a head, or fall short.

    importance: [L, K], >= 0, not all 0; rows are the compressed layers in order.
    Source: Fu et al., HeadKV-R2, and the authors' code, which takes beta from
    1.005 to 10. Raises ValueError for another importance, for beta < 1 and for too
    small a budget.
    """

    importance: torch.Tensor
    beta: float = 1.2
    as_published: bool = False
    scope: ClassVar[str] = "layer"

    def __post_init__(self):
        if not self.beta >= 1:
            raise ValueError(f"beta: {self.beta}; legal is 1 and above")
        given = torch.as_tensor(self.importance)
        legal = given.dim() == 2 and (given >= 0).all() and 0 < given.sum() < torch.inf
        if not legal:
            raise ValueError(
                f"importance: shape {list(given.shape)}, sum {given.sum().item()}; "
                "legal is [L, K] of finite numbers >= 0, not all 0"
            )

    def __call__(self, scores, entries, layers, depth):
        """scores: a list of [K, S], one a layer; returns a list of [K, S] bool."""
        kept = []
        for score, layer in zip(scores, layers):
            need = [depth, score.shape[0]]
            if list(self.importance.shape) != need:
                raise ValueError(
                    f"importance: shape {list(self.importance.shape)}; need {need}"
                )
            mean = keys_per_head(entries, score)
            counts = self.counts(mean, score.shape[-1], must_stay(score))
            kept.append(top_k(score, counts[layer].to(score.device)))
        return kept

    def counts(self, mean, length, forced=0):
        """Keys of every head, [L, K] int64, ``mean`` on average."""
        weight = torch.as_tensor(self.importance).double().cpu()
        weight = weight / weight.sum()
        base, room = mean - forced, length - forced
        share = int(base / self.beta)
        quotas = base - share + weight * share * weight.numel()
        if self.as_published:
            return forced + quotas.round().clamp(max=room).long()
        quotas = spread_excess(quotas, room, weight)
        return forced + largest_remainder(quotas, base * weight.numel())


def spread_excess(quotas, room, weight):
    """Cut quotas at ``room`` and give what is above to the others, by weight.

    Where nobody of the others has a weight, they share alike. Sums stay the same,
    which is possible as long as the mean quota is at most ``room``.
    """
    quotas = quotas.clone()
    while (above := quotas > room).any():
        excess = (quotas[above] - room).sum()
        quotas[above] = room
        others = quotas < room
        if not others.any():  # rounding only: everybody is full
            return quotas
        part = torch.where(others, weight, 0.0)
        if part.sum() == 0:
            part = others.double()
        quotas = quotas + excess * (part / part.sum())  # tiny weights lose in products
    return quotas
