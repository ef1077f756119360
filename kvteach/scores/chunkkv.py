"""ChunkKV: neighbours live or die together.

Liu et al., "ChunkKV: Semantic-Preserving KV Cache Compression" (arXiv 2502.00299):
a phrase of which single tokens survive means little, so chunks are ranked whole.
"""

from dataclasses import dataclass, field
from typing import Any

import torch

from kvteach.scores.snapkv import SnapKV


@dataclass(frozen=True)
class ChunkKV:
    """score_j = the mean inner score of j's chunk, over its members and all heads.

    inner: any rule that scores a layer in one pass; length: keys a chunk, the last
    one may be shorter. [K, S] float32, the same for every head and member, so that a
    budget of whole chunks reads one key of each. A chunk with a key that must stay
    (+inf) must stay. Cost beside the inner rule: O(K S).

    Deviations from kvpress: there, a key that must stay counts as the largest score
    plus one, which averages to the same order in all but contrived cases; and a
    prompt shorter than one chunk falls back to the inner rule, here it is one chunk.

    Raises ValueError for a length below 1, and what ``inner`` raises.
    """

    inner: Any = field(default_factory=SnapKV)
    length: int = 20

    def __post_init__(self):
        if self.length < 1:
            raise ValueError(f"length: {self.length}; need at least 1 key a chunk")

    @property
    def window(self):
        """Rows that the inner rule reads."""
        return self.inner.window

    @property
    def hidden(self):
        """Whether the inner rule reads hidden states."""
        return self.inner.hidden

    def __call__(self, layer):
        score_ks = self.inner(layer)
        chunk_s = torch.arange(layer.length, device=score_ks.device) // self.length
        totals = score_ks.new_zeros(int(chunk_s[-1]) + 1)
        totals.index_add_(0, chunk_s, score_ks.mean(0))
        means = totals / chunk_s.bincount()
        return means[chunk_s].expand_as(score_ks).clone()
