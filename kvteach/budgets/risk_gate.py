"""CompilerKV's choice of keys: weights of heads and thresholds, looked up in tables."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from kvteach.budgets.topk import keys_per_head, top_k
from kvteach.rows.utility import alpha, rho, spread, veto


def elastic(utility_t, threshold, count):
    """Keys with utility at or above the threshold, the best ``count`` if they are more.

    utility_t: [..., T]; threshold: [...] or a number; count: keys, >= 1. Returns
    [..., T] bool: at most ``count`` keys, fewer where fewer reach the threshold, always
    the last one, for without any key there is no attention. Cost of one sort.
    """
    utility_t = utility_t.clone()
    utility_t[..., -1] = torch.inf
    threshold = torch.as_tensor(threshold, dtype=utility_t.dtype)
    return top_k(utility_t, count) & (utility_t >= threshold[..., None])


@dataclass(frozen=True, eq=False)
class RiskGate:
    """Keep the keys whose weighted utility reaches a threshold, at most the budget.

        u_lkt  = alpha_t rho_lkt            alpha over all layers and heads
        u_lt   = max over k of W[l, k] u_lkt
        kept_l = { t : u_lt >= tau[l, entropy bin, perplexity bin] }, cut at n keys

    W and tau come from ``tables`` (`kvteach.budgets.tables.Tables`), of the compiled
    budget nearest to n / S; the bins from the entropy of alpha and from the perplexity
    of the last rows. heads, gate: which of the two tables is used; without tables,
    neither. All heads of a layer keep the same keys, layers differ in how many.

    For the score `kvteach.scores.stabilised.Stabilised`. Cost: L K S products and one
    sort a layer. Source: CompilerKV (arXiv 2602.08686) and its authors' code.
    Deviations: the last token always stays; tables are indexed by share of the prompt,
    not by a number of keys. Raises ValueError for tables made for another number of
    layers or KV heads, and for a gate without the loss of the last rows.
    """

    tables: Any = None
    heads: bool = True
    gate: bool = True

    scope: ClassVar[str] = "model"
    reads_values: ClassVar[bool] = True

    @property
    def reads_loss(self):
        """How many of the last rows' losses are read, 0 for none."""
        return self.tables.window if self.tables is not None and self.gate else 0

    def __call__(self, scores, entries, layers, depth, values, loss_t=None):
        """scores, values: [K, S] and [K, S, D] of each layer; returns [K, S] bool each.

        loss_t: nats of the last ``reads_loss`` tokens.
        """
        count = keys_per_head(entries, *scores)
        length = scores[0].shape[-1]
        if self.tables is not None:
            self.tables.require(depth, scores[0].shape[0])
        alpha_t = alpha(completed(torch.stack(list(scores))))
        threshold = self._thresholds(alpha_t, loss_t, count / length, depth)
        kept = []
        for values_ksd, layer in zip(values, layers):
            weight_k = None
            if self.tables is not None and self.heads:
                weight_k = self.tables.weights(count / length)[layer].to(alpha_t)
            utility_t = veto(alpha_t * rho(values_ksd), weight_k)
            kept_t = elastic(utility_t, threshold[layer], count)
            kept.append(kept_t.expand(len(values_ksd), -1).clone())
        return kept

    def _thresholds(self, alpha_t, loss_t, share, depth):
        """tau of every layer, [L]; -inf where there is no gate."""
        if self.tables is None or not self.gate:
            return torch.full((depth,), -torch.inf)
        if loss_t is None:
            raise ValueError(
                "loss_t: None; a gate reads the perplexity of the last "
                f"{self.tables.window} tokens, the engine hands it over"
            )
        perplexity = loss_t.double().mean().exp()
        return self.tables.thresholds(share, float(spread(alpha_t)), float(perplexity))


def completed(rows_ks):
    """Attention rows [..., S] whose last entry the engine has set to +inf, as they were.

    They sum to 1, so the last is what the others leave.
    """
    rows_ks = rows_ks.clone()
    forced = rows_ks[..., -1].isposinf()
    left = (1 - rows_ks[..., :-1].sum(-1)).clamp_min(0)
    rows_ks[..., -1] = torch.where(forced, left, rows_ks[..., -1])
    return rows_ks
