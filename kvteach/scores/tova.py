"""TOVA: what the last token looks at stays.

Oren et al., "Transformers are Multi-State RNNs" (arXiv 2401.06104): drop the key
that the newest query, averaged over the heads of a layer, weighs least.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class TOVA:
    """score_j = the mean over all H heads of the last row's weight on key j.

    [K, S] float32, the same for every head of the layer. The row is the last that
    may rank; the last key of the sequence is +inf (the paper does not force it, but
    its own weight is rarely small). Cost 2 H S D FLOP.

    Raises ValueError when no row may rank.
    """

    window = 1
    hidden = False

    def __call__(self, layer):
        score_s = layer.weights(*layer.rows(self.window))[:, 0].mean(0)
        score_s[-1] = torch.inf
        return score_s.expand(layer.keys_ksd.shape[0], -1).clone()
