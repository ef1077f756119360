"""What a layer contributes to the one attention row that a whole model shares.

CompilerKV's utility is a model's, not a layer's: alpha averages attention over every
layer and head. A score rule sees one layer at a time, so this one returns the layer's
own part, and the budget that divides the model's keys puts the parts together, see
`kvteach.budgets.risk_gate`. The mathematics is in `kvteach.rows.utility`.
"""

from dataclasses import dataclass

import torch

from kvteach.scores.layer import over_groups


@dataclass(frozen=True)
class Stabilised:
    """score_kj = mean over the window's rows and the group's heads of weight on j.

    [K, S] float32, each row summing to 1; no key is forced, not even the window's, as
    in CompilerKV (arXiv 2602.08686). Their mean over layers and KV heads, times S, is
    alpha. Cost 2 H window S D FLOP, one tile of 4 H 128 S bytes.

    Raises ValueError for a window below 1 and, when called, for fewer rows than that.
    """

    window: int = 64

    hidden = False

    def __post_init__(self):
        if self.window < 1:
            raise ValueError(f"window: {self.window}; need at least 1 row")

    def __call__(self, layer):
        mean_hs = layer.received(self.window) / self.window
        return over_groups(mean_hs, layer.keys_ksd.shape[0])
