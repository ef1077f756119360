"""CertKV's division of a budget: keys go where the evicted values are spread out."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from kvteach.budgets.multiplier import divide
from kvteach.budgets.topk import keys_per_head, top_k


@dataclass(frozen=True)
class Dispersion:
    """The counts whose evicted values are summarised best, by their dispersion.

        c_h(b) = m_h(b) sqrt( sum_{j in E} r_j ||v_j - vbar||^2 ),   c_h(b >= n) = 0
        minimise sum_h c_h(b_h)   subject to   sum_h b_h = K entries, exactly

    A head's keys are ranked by score; E are all but the first b of those that are not
    forced, pi_j their scores over the sum of all such scores, m_h(b) = sum_E pi_j,
    r_j = pi_j / m_h(b), vbar = sum_E r_j v_j. Keys of score +inf stay and are no part
    of pi. A head whose scores are all 0 counts its keys alike. `multiplier.divide`
    solves it: one price, a repair by single keys, and then what is exactly optimal.

    scope: "layer" divides each layer's budget among its heads; "model" divides one
    budget among all heads of the model. The published text does not say which.
    refine: False stops after the repair, as published.

    Reads values, so it is called with them. Cost a layer: one sort, O(K S D) float64.
    Source: CertKV (arXiv 2608.21541), known from summaries; ties are ours. Raises
    ValueError for another scope, a negative score or NaN, and too small a budget.
    """

    scope: str = "layer"
    refine: bool = True
    reads_values: ClassVar[bool] = True

    def __post_init__(self):
        if self.scope not in ("layer", "model"):
            raise ValueError(f"scope: {self.scope!r}; legal are 'layer' and 'model'")

    def __call__(self, scores, entries, layers, depth, values):
        """scores: list of [K, S]; values: list of [K, S, D]; returns list of masks."""
        if self.scope == "layer":
            parts = [self.together([s], entries, [v]) for s, v in zip(scores, values)]
            return [kept for part in parts for kept in part]
        return self.together(scores, entries, values)

    def together(self, scores, entries, values):
        """Kept sets of layers that share one budget."""
        mean = keys_per_head(entries, *scores)
        curves = [
            cost_curve(score_s, values_sd)
            for score_ks, values_ksd in zip(scores, values)
            for score_s, values_sd in zip(score_ks, values_ksd)
        ]
        forced_h = np.array([scores[0].shape[1] + 1 - len(curve) for curve in curves])
        free = mean * len(curves) - forced_h.sum()
        counts_h = forced_h + divide(as_table(curves), free, self.refine)
        counts_lk = torch.from_numpy(counts_h).view(len(scores), -1)
        return [top_k(score, count) for score, count in zip(scores, counts_lk)]


def cost_curve(score_s, values_sd):
    """c(b) of one head for b = 0 .. n kept keys of the n not forced: [n + 1] float64.

    With M(b) = sum_E pi_j ||v_j - vbar||^2, c(b) = sqrt(m(b) M(b)). Key j joins the
    tail behind it, of mass m and mean vbar, and adds pi_j m / (pi_j + m) ||v_j - vbar||^2
    to M (Chan, Golub and LeVeque): terms >= 0, so nothing cancels, and c never rises.
    """
    if not (score_s >= 0).all():
        raise ValueError(f"scores: the least is {score_s.min()}; dispersion needs >= 0")
    order = score_s.argsort(descending=True, stable=True)
    order = order[int(score_s.isposinf().sum()) :]
    pi_n = score_s[order].double()
    total = pi_n.sum()
    pi_n = pi_n / total if total > 0 else torch.full_like(pi_n, 1 / max(len(pi_n), 1))
    values_nd = values_sd[order].double()
    mass_n = _tail_sums(pi_n)
    mean_nd = _tail_sums(pi_n[:, None] * values_nd) / mass_n.clamp_min(1e-300)[:, None]
    away_n = (values_nd - mean_nd[1:]).square().sum(1)
    joins_n = pi_n * mass_n[1:] / mass_n[:-1].clamp_min(1e-300) * away_n
    return (mass_n * _tail_sums(joins_n)).sqrt().cpu().numpy()


def _tail_sums(terms):
    """Sums of the terms from b on, b = 0 .. n: [n + 1, ...], the last one 0."""
    sums = terms.flip(0).cumsum(0).flip(0)
    return torch.cat([sums, torch.zeros_like(terms[:1].sum(0, keepdim=True))])


def as_table(curves):
    """Curves of unequal lengths as one [H, B + 1] array, +inf behind shorter ones."""
    table = np.full((len(curves), max(map(len, curves))), np.inf)
    for row, curve in zip(table, curves):
        row[: len(curve)] = curve
    return table
