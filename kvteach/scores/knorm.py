"""KNorm: short keys stay.

Devoto et al., "A Simple and Effective L2 Norm-Based Strategy for KV Cache
Compression" (arXiv 2406.11430): keys of small norm were seen to draw much attention.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class KNorm:
    """score_j = -||k_j||, [K, S] float32. Reads the keys once: 2 K S D FLOP.

    Norms are taken in float32, so that half precision neither overflows nor ties
    keys whose norms differ. No key is forced to stay, and no query is read:
    ``ranking`` changes nothing.
    """

    window = 0
    hidden = False

    def __call__(self, layer):
        return -torch.linalg.vector_norm(layer.keys_ksd.float(), dim=-1)
