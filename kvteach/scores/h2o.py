"""H2O: heavy hitters, half of the budget; the most recent keys, the other half.

Zhang et al., "H2O: Heavy-Hitter Oracle for Efficient Generative Inference"
(arXiv 2306.14048). A key is heavy when all rows so far, added up, gave it much.
"""

from dataclasses import dataclass

import torch

from kvteach.scores.layer import over_groups


@dataclass(frozen=True)
class H2O:
    """Attention that each key has received, and a share for recency.

    mass_j = sum over the rows that may rank of their weight on j, averaged over the
    R heads of a group. With ``per_row`` it is divided by the number of those rows
    that could see j, since an early key is seen by more rows.

    recent: None is the classical rule, half of the budget for the latest keys and
    half for the heaviest of the others. A score does not know the budget, but the
    sets that the rule keeps grow one key at a time as the budget grows, so the score
    of a key is minus the budget at which it enters; see `entry_budgets`. A number
    means so many latest keys, +inf, and the mass itself as the score of the others.

    H2O(recent=0, per_row=True) is what kvpress calls ObservedAttention.

    [K, S] float32. Cost 2 H S^2 D FLOP, half of a prefill's attention again, in
    tiles of 4 H 128 S bytes. Raises ValueError for a negative ``recent``.
    """

    recent: int | None = None
    per_row: bool = False

    window = None
    hidden = False

    def __post_init__(self):
        if self.recent is not None and self.recent < 0:
            raise ValueError(f"recent: {self.recent}; need None or at least 0 keys")

    def __call__(self, layer):
        mass_ks = over_groups(self._mass(layer), layer.keys_ksd.shape[0])
        if self.recent is None:
            entered = [entry_budgets(mass_s) for mass_s in mass_ks.cpu()]
            return -torch.stack(entered).to(mass_ks)
        if self.recent:
            mass_ks[:, -self.recent :] = torch.inf
        return mass_ks

    def _mass(self, layer):
        mass_hs = layer.received()
        if self.per_row:
            first, last = layer.rows()
            position = torch.arange(layer.length, device=mass_hs.device)
            mass_hs /= (last - position.clamp_min(first)).clamp_min(1)
        return mass_hs


def entry_budgets(mass_s):
    """The budget at which each key enters H2O's kept set, [S] int64, 1 .. S.

    At budget n the set is the n // 2 latest keys and the n - n // 2 heaviest of the
    others (ties to the earlier key). From n to n + 1 it gains exactly one key and
    loses none: on even n + 1 the next latest key, or, if that was kept for its mass
    already, the next heaviest. O(S log S).
    """
    length = len(mass_s)
    heaviest = iter(mass_s.sort(descending=True, stable=True).indices.tolist())
    entered = [0] * length
    for budget in range(1, length + 1):
        key = length - budget // 2
        if budget % 2 or entered[key]:
            key = next(key for key in heaviest if not entered[key])
        entered[key] = budget
    return torch.tensor(entered)
