"""ContourKV: one threshold for the whole model."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from kvteach.budgets.topk import (
    keys_per_head,
    largest_remainder,
    must_stay,
    pooled_top_k,
    top_k,
)

ENFORCEMENTS = ("ragged", "capped", "layer")


@dataclass(frozen=True)
class ContourKV:
    """Keep the recent keys and every key whose score reaches one threshold tau.

        S_lk = F | {j not in F : score_lk[j] >= tau},   F the last ``floor`` positions

    tau is what makes the mean size of S_lk over layers and heads equal ``entries``.
    So it is a pooled top-k: all other scores of the model in one ranking. Heads whose
    scores are flat have many keys above the line and get more. Ties at tau fall as
    in `pooled_top_k`, and the total is exact.

    floor_in_budget: True counts F inside ``entries``, the sentence read literally;
      False lets tau fill ``entries`` on top of it, ``entries`` + floor in all. The
      paper does not say which; its budgets of 32 mean nothing but F under True.
    enforcement: "ragged", every head holds its own S_lk (the paper's retrieval
      runs); "capped", every head keeps its min(entries, S) best, F first and F
      inside (its benchmark runs); "layer", every layer keeps the keys the threshold
      gave it, shared alike by its heads (its equal-memory variant). Whether ragged
      sets are held ragged or padded is the store's affair.

    A score of +inf passes every threshold. Cost: one sort of L K S scores.
    Source: Shi et al., Trust the Mass, section 4. Raises ValueError for another
    enforcement, a negative floor, and a budget that does not hold what must stay.
    """

    floor: int = 32
    floor_in_budget: bool = True
    enforcement: str = "ragged"
    scope: ClassVar[str] = "model"

    def __post_init__(self):
        if self.enforcement not in ENFORCEMENTS:
            raise ValueError(
                f"enforcement: {self.enforcement!r}; legal are {ENFORCEMENTS}"
            )
        if self.floor < 0:
            raise ValueError(f"floor: {self.floor}; legal is 0 and above")

    def __call__(self, scores, entries, layers, depth):
        """scores: a list of [K, S], one a layer; returns a list of [K, S] bool."""
        score_lks, mean = self.with_floor(scores, entries)
        if self.enforcement == "capped":
            return list(top_k(score_lks, mean))
        kept_lks = above_threshold(score_lks, mean)
        if self.enforcement == "layer":
            kept_lks = top_k(score_lks, shared_alike(kept_lks, score_lks)[:, None])
        return list(kept_lks)

    def threshold(self, scores, entries):
        """tau, a float: the least score that is kept outside the floor.

        Every kept score outside the floor is >= tau, every dropped one <= tau, under
        "ragged". +inf where nothing but the floor is kept.
        """
        score_lks, mean = self.with_floor(scores, entries)
        outside = above_threshold(score_lks, mean) & ~self.recent(score_lks)
        return score_lks[outside].min().item() if outside.any() else float("inf")

    def with_floor(self, scores, entries):
        """The scores with +inf on the floor, [L, K, S], and the mean number to keep."""
        scores = [score.masked_fill(self.recent(score), torch.inf) for score in scores]
        if self.floor_in_budget or self.enforcement == "capped":
            mean = keys_per_head(entries, *scores)
        else:
            floor = min(self.floor, scores[0].shape[-1])
            others = [score[..., : score.shape[-1] - floor] for score in scores]
            mean = floor + keys_per_head(entries, *others)
        return torch.stack(scores), mean

    def recent(self, score):
        """F as a mask, [S] bool."""
        position = torch.arange(score.shape[-1], device=score.device)
        return position >= score.shape[-1] - self.floor


def above_threshold(score_lks, mean):
    """The sets that one threshold leaves, ``mean`` keys a head: [L, K, S] bool."""
    layers, heads, _ = score_lks.shape
    return pooled_top_k(score_lks, layers * heads * mean)


def shared_alike(kept_lks, score_lks):
    """Keys per head of every layer where its heads share alike, [L] int64."""
    layers, heads, _ = kept_lks.shape
    total_l = kept_lks.sum((1, 2))
    count_l = largest_remainder(total_l / heads, int(total_l.sum()) // heads)
    for layer, (count, score_ks) in enumerate(zip(count_l.tolist(), score_lks)):
        if count < must_stay(score_ks):
            raise ValueError(
                f"enforcement: 'layer' leaves {count} keys a head in layer {layer}, "
                f"where one head has {must_stay(score_ks)} that must stay"
            )
    return count_l
