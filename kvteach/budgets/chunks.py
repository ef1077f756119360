"""ChunkKV: whole stretches of text, the same ones in every head."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from kvteach.budgets.topk import keys_per_head, top_k


@dataclass(frozen=True)
class WholeChunks:
    """Keep the best chunks of ``length`` neighbours, shared by the heads of a layer.

    A chunk's score is the mean over its positions of the sum over the heads; one
    with a key that must stay (score +inf) goes first. What is left over at the end
    of the text is a chunk of its own, shorter. Chunks are taken from the best down
    while they fit: at most ``entries`` keys a head, equal in all heads.

    Source: Liu et al., ChunkKV, as in kvpress 0.5.5, which keeps
    max(1, floor(chunks * entries / S)) chunks whether they fit or not, and takes
    single keys where S is less than a chunk (``as_published``). Raises ValueError
    for a length below 1, and where the first chunk or those with keys that must
    stay do not fit.
    """

    length: int = 20
    as_published: bool = False
    scope: ClassVar[str] = "layer"

    def __post_init__(self):
        if self.length < 1:
            raise ValueError(f"length: {self.length}; legal is 1 and above")

    def __call__(self, scores, entries, layers, depth):
        """scores: a list of [K, S], one a layer; returns a list of [K, S] bool."""
        return [self.of_layer(score, keys_per_head(entries, score)) for score in scores]

    def of_layer(self, score, mean):
        """The kept set of one layer, at most ``mean`` keys a head."""
        heads, length = score.shape
        if mean == length or (self.as_published and length < self.length):
            return top_k(score, mean)
        rank_c = chunk_scores(score, self.length)
        starts = torch.arange(0, length, self.length, device=score.device)
        sizes = (length - starts).clamp(max=self.length)
        if self.as_published:
            count = max(1, len(sizes) * mean // length)
        else:
            count = self.that_fit(rank_c, sizes, mean)
        kept_c = top_k(rank_c, count)
        return kept_c.repeat_interleave(sizes).expand(heads, -1).clone()

    def that_fit(self, rank_c, sizes, mean):
        """How many chunks, from the best down, hold at most ``mean`` keys."""
        order = rank_c.argsort(descending=True, stable=True)
        held = sizes[order].cumsum(0)
        need = int(held[max(int(rank_c.isposinf().sum()), 1) - 1])
        if mean < need:
            raise ValueError(
                f"entries: {mean} keys per head; the chunks of {self.length} that go "
                f"first hold {need}, legal are {need} .. {int(sizes.sum())}"
            )
        return int((held <= mean).sum())


def chunk_scores(score, length):
    """Mean over each chunk of the sum over heads: [K, S] -> [chunks], float32.

    +inf for a chunk that holds a score of +inf.
    """
    forced_s = score.isposinf().any(0)
    total_s = score.float().sum(0).masked_fill(forced_s, torch.inf)
    return torch.stack([part.mean() for part in total_s.split(length)])
