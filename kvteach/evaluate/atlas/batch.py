"""The rules of `kvteach.rows.select` on many rows at once.

A map asks the same questions of thousands of rows that share keys and values.
Here rows come as [K, n, S]: n rows for each of K key-value heads; invisible
keys weigh 0. Sets are prefixes of an order of the keys, so one running sum
answers every budget. The tests hold each function to its row-by-row original.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch

from kvteach.rows.pool import published_extras


@dataclass(frozen=True)
class Batch:
    """Rows p [K, n, S] over values [K, S, D], both float64."""

    p: torch.Tensor
    v: torch.Tensor
    visible: torch.Tensor  # [K, n, S]

    @cached_property
    def mu(self):
        """Dense outputs, [K, n, D]."""
        return self.p @ self.v

    @cached_property
    def distance(self):
        """||v_j - mu||, [K, n, S], 0 where invisible."""
        square = (
            self.v.square().sum(-1)[:, None]
            - 2 * self.mu @ self.v.mT
            + self.mu.square().sum(-1, keepdim=True)
        )
        return square.clamp_min(0).sqrt() * self.visible

    @cached_property
    def by_mass(self):
        """Keys by falling weight, ties to the earlier, [K, n, S]."""
        return falling(self.p)

    def deviations(self, keys):
        """Gamma [K, n, m, D] and weights [K, n, m] of the keys [K, n, m]."""
        heads = torch.arange(len(self.v))[:, None, None]
        weights = self.p.gather(-1, keys)
        return weights[..., None] * (self.v[heads, keys] - self.mu[:, :, None]), weights

    def pool(self, size, top=None):
        """The published pool [K, n, size + extras]: the top-mass set, then extras.

        top: the top-mass set [K, n, size], where it is known already.
        """
        top = self.by_mass[..., :size] if top is None else top
        pull = (self.p * self.distance).masked_fill(~self.visible, -1)
        pull = pull.scatter(-1, top, -1.0)
        extras = pull.topk(min(published_extras(size), pull.shape[-1] - size)).indices
        return torch.cat([top, extras], -1)

    def prefix_errors(self, order, sizes):
        """Forced errors [len(sizes), K, n] of the first s keys of an order."""
        gamma, weights = self.deviations(order[..., : max(sizes)])
        lengths, masses = gamma.cumsum(-2).norm(dim=-1), weights.cumsum(-1)
        return torch.stack([lengths[..., s - 1] / masses[..., s - 1] for s in sizes])

    def mask_errors(self, kept):
        """Forced errors and dropped masses [K, n] of the sets kept [K, n, S]."""
        weights = self.p * kept
        mass = weights.sum(-1)
        error = (weights @ self.v - mass[..., None] * self.mu).norm(dim=-1) / mass
        return error, 1 - mass


def weights_at(layer, kv_head, at):
    """p [R * n, S] float64 of the query heads of one group at positions ``at``."""
    heads = range(kv_head * layer.group_size, (kv_head + 1) * layer.group_size)
    chosen = replace(
        layer,
        positions=at,
        queries_hnd=layer.queries_hnd[:, at],
        outputs_hnd=layer.outputs_hnd[:, at],
        visible_ns=layer.visible_ns[at],
    )
    return torch.cat([chosen.weights(head) for head in heads])


def falling(score):
    """Indices of the last axis by falling score, ties to the earlier."""
    return score.argsort(dim=-1, descending=True, stable=True)


def leverage_order(k, visible, ridge=1e-2):
    """Keys by ridge leverage, [K, n, S]; k: [K, S, D], visible: [K, n, S].

    See `kvteach.rows.select.leverage`. Cost O(S D^2) per row.
    """
    scores = torch.empty(visible.shape, dtype=k.dtype)
    identity = torch.eye(k.shape[-1], dtype=k.dtype)
    for head, keys in enumerate(k):
        for row, seen in enumerate(visible[head]):
            gram = keys[seen].T @ keys[seen]
            inverse = torch.linalg.inv(
                gram + ridge * gram.trace() / len(gram) * identity
            )
            scores[head, row] = ((keys @ inverse) * keys).sum(-1).masked_fill(~seen, -1)
    return falling(scores)
