"""SnapKV: what the last rows look at stays, together with its neighbours.

Li et al., "SnapKV: LLM Knows What You are Looking for Before Generation"
(arXiv 2404.14469): an observation window at the end of the prompt votes; pooling
keeps the keys around a winner, so that a number is not kept without its unit.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from kvteach.scores.layer import over_groups


@dataclass(frozen=True)
class SnapKV:
    """score_j = group mean of pool_j of the window's mean weights.

    w_hj = mean over the last ``window`` rows that may rank of head h's weight on j;
    along j it is pooled over ``kernel`` neighbours (zeros beyond the ends and in the
    window), then averaged over the R heads of a group. The last ``window`` keys of
    the sequence are +inf. [K, S] float32. Cost 2 H window S D FLOP; rows are read in
    tiles, never more than H 128 S weights at once.

    Defaults are those of the kvpress library; the published codes of Ada-KV and
    HeadKV use SnapKV(window=32, kernel=7, pooling="max").

    Raises ValueError for an even or non-positive kernel, a window below 1, another
    pooling than "mean" or "max", and, when called, fewer rows than the window.
    """

    window: int = 64
    kernel: int = 5
    pooling: str = "mean"

    hidden = False

    def __post_init__(self):
        if self.window < 1:
            raise ValueError(f"window: {self.window}; need at least 1 row")
        if self.kernel < 1 or self.kernel % 2 == 0:
            raise ValueError(f"kernel: {self.kernel}; need an odd number, 1 or more")
        if self.pooling not in ("mean", "max"):
            raise ValueError(f'pooling: {self.pooling!r}; need "mean" or "max"')

    def __call__(self, layer):
        heads, kv_heads = layer.queries_htd.shape[0], layer.keys_ksd.shape[0]
        earlier = max(layer.length - self.window, 0)
        vote_hs = layer.keys_ksd.new_zeros(heads, earlier, dtype=torch.float32)
        for _first, _last, weights_hts in layer.tiles(self.window):
            vote_hs += weights_hts[..., :earlier].sum(1) / self.window
        score_ks = torch.full(
            (kv_heads, layer.length), torch.inf, device=vote_hs.device
        )
        if earlier:
            score_ks[:, :earlier] = over_groups(self._pooled(vote_hs), kv_heads)
        return score_ks

    def _pooled(self, vote_hs):
        pool = F.avg_pool1d if self.pooling == "mean" else F.max_pool1d
        return pool(vote_hs, self.kernel, stride=1, padding=self.kernel // 2)
