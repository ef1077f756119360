"""A slot whose logit is regressed on the mass that the tail had for recent queries."""

from dataclasses import dataclass

import torch

from kvteach.compensate.tail import Tail, shares
from kvteach.compensate.tail_slot import Slots, narrow


@dataclass(frozen=True)
class FittedSlot:
    """One slot a head with key and bias from ridge regression; returns `Slots`.

    With y = log sum_E exp(q k_j) of the queries q of the last ``window`` rows that may
    rank, and kbar, vbar the plain means of the evicted keys and values:

        minimise over k and b   mean (q k + b - y)^2 + ridge s ||k - kbar||^2

    s is the mean variance of a coordinate of q, so that ``ridge`` has no unit. The
    value is the mean of the tail's values under the attention that these rows paid to
    them. Both look only at evicted keys older than these rows. Nothing bounds such a
    slot at queries unlike these; `TangentSlot` is better in benchmarks/slots.py.

    State: 2 D numbers a KV head in the model's dtype, one float32. Cost: 2 H window S D
    FLOP and K systems of D unknowns in float64. Raises ValueError for a ridge not above
    0, a window below 1, and, when called, too few rows.
    """

    ridge: float = 0.1
    window: int = 32

    hidden = False
    repeats = True

    def __post_init__(self):
        if not self.ridge > 0:
            raise ValueError(f"ridge: {self.ridge}; legal is above 0")
        if self.window < 1:
            raise ValueError(f"window: {self.window}; legal is 1 and above")

    def charge(self, dim):
        """One key of every KV head is given up for the slot."""
        return 1

    def __call__(self, layer, kept_ks, score_ks, before=None):
        """The slot of one layer of one sequence, B = 1."""
        tail = Tail.of(layer, kept_ks, before)
        rows = list(tail.rows(layer, self.window))
        older_k1s = tail.older(layer, self.window)[:, None]
        queries_kxd = torch.cat([queries for queries, _ in rows], 1).double()
        targets = [l.masked_fill(~older_k1s, -torch.inf).logsumexp(2) for _, l in rows]
        target_kx = torch.cat(targets, 1).double()
        weight_ks = shares(tail.bias_ks)
        key_kd = (weight_ks[:, None] @ tail.keys_ksd)[:, 0].double()
        key_kd, bias_k = _regress(queries_kxd, target_kx, key_kd, self.ridge)
        paid = sum(logits.softmax(2).sum(1) for _, logits in rows) * older_k1s[:, 0]
        paid_ks = paid / paid.sum(1, keepdim=True).clamp_min(1e-30)
        seen_k = (target_kx > -torch.inf).any(1)
        return Slots(
            narrow(key_kd.float(), layer.keys_ksd)[None, :, None],
            narrow(paid_ks[:, None] @ tail.values_ksd, layer.values_ksd)[None],
            bias_k.float().masked_fill(~seen_k, -torch.inf)[None, :, None],
        )


def _regress(queries_kxd, target_kx, start_kd, ridge):
    """Key [K, D] and bias [K], float64; -inf targets count for nothing."""
    seen_kx = (target_kx > -torch.inf).double()
    count_k1 = seen_kx.sum(1, keepdim=True).clamp_min(1)
    dots_kx = (queries_kxd @ start_kd[..., None])[..., 0]
    miss_kx = torch.where(seen_kx > 0, target_kx - dots_kx, 0.0)
    mean_miss_k1 = miss_kx.sum(1, keepdim=True) / count_k1
    mean_kd = (seen_kx[..., None] * queries_kxd).sum(1) / count_k1
    around_kxd = (queries_kxd - mean_kd[:, None]) * seen_kx[..., None]
    moment_kdd = around_kxd.transpose(1, 2) @ around_kxd / count_k1[..., None]
    scale_k = moment_kdd.diagonal(dim1=1, dim2=2).mean(1).clamp_min(1e-30)
    moment_kdd.diagonal(dim1=1, dim2=2).add_(ridge * scale_k[:, None])
    pull_kd = (around_kxd * (miss_kx - mean_miss_k1)[..., None]).sum(1) / count_k1
    change_kd = torch.linalg.solve(moment_kdd, pull_kd)
    bias_k = mean_miss_k1[:, 0] - (mean_kd * change_kd).sum(1)
    return start_kd + change_kd, bias_k
