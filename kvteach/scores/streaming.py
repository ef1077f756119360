"""StreamingLLM: the first keys and the most recent ones, whatever they say.

Xiao et al., "Efficient Streaming Language Models with Attention Sinks"
(arXiv 2309.17453): a model that loses its first tokens loses its composure, because
many heads park their attention there; four such sinks and a sliding window suffice.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class StreamingLLM:
    """Sinks stay, and of the other keys the latest.

    score_j = +inf for j < sinks, else j. [K, S] float32, the same for every head and
    layer. Reads nothing but the length: O(K S). A prompt shorter than the sinks stays
    whole. Raises ValueError for negative sinks.

    Positions are kept true after eviction; the paper counts positions inside the
    cache instead, which is for streams longer than the model's context.
    """

    sinks: int = 4

    window = 0
    hidden = False

    def __post_init__(self):
        if self.sinks < 0:
            raise ValueError(f"sinks: {self.sinks}; need at least 0 keys")

    def __call__(self, layer):
        device = layer.keys_ksd.device
        score_s = torch.arange(layer.length, dtype=torch.float32, device=device)
        score_s[: self.sinks] = torch.inf
        return score_s.expand(layer.keys_ksd.shape[0], -1).clone()
