"""KeyDiff: keys unlike the average key stay.

Park et al., "KeyDiff" (arXiv 2504.15364): keys that point away from the mean
direction are those that some query singles out. The paper applies the rule block by
block while the prompt is read; here it sees the whole prompt at once.
"""

from dataclasses import dataclass

import torch.nn.functional as F


@dataclass(frozen=True)
class KeyDiff:
    """score_j = -cos(k_j, a), a = the mean over j of k_j / ||k_j||.

    [K, S] float32, between -1 and 1; a key of length 0 scores 0. Reads the keys
    twice: 6 K S D FLOP. No key is forced to stay, and no query is read: ``ranking``
    changes nothing.
    """

    window = 0
    hidden = False

    def __call__(self, layer):
        directions_ksd = F.normalize(layer.keys_ksd.float(), dim=-1)
        anchor_k1d = F.normalize(directions_ksd.mean(1, keepdim=True), dim=-1)
        return -(directions_ksd * anchor_k1d).sum(-1)
