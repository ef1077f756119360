"""A slot for queries not yet seen: the tail's tangent at the mean recent query.

The evicted keys act on a query q through f(q) = log sum_R exp(q k_j), a convex
function, and a slot through the affine q k + b. The highest affine functions that stay
below f are its tangents: the one at q0 has the key and bias

    k = sum r_j k_j,   b = H(r),   r = softmax(q0 k_j)  over the tail,

and with value sum r_j v_j the slot answers q0 exactly. A convex function is above its
tangent everywhere else, so the mean gap at recent queries is known, and part of it is
added to the bias.
"""

from dataclasses import dataclass

import torch

from kvteach.compensate.tail import Tail, capped, shares
from kvteach.compensate.tail_slot import Slots, narrow

_ITERATIONS = 8  # of k-means; more change nothing that can be measured


@dataclass(frozen=True)
class TangentSlot:
    """Slots that are exact at the mean query of the last rows; returns `Slots`.

    q0 is the mean of the scaled queries of the last ``window`` rows that may rank, over
    rows and the R heads of a group. r = softmax(q0 k_j) over the evicted keys; the slot
    has key sum r_j k_j (rounded to the model's dtype), value sum r_j v_j and the bias
    that makes it exact at q0, H(r) but for rounding, plus

        lift * mean over these queries of ( log sum_R exp(q k_j) - the slot's logit ) .

    lift 0 is safe: no query ever gives the slot more than the tail's own mass (without
    soft-capping). lift 1 makes it right on average over the window; halfway is best for
    later queries (see benchmarks/slots.py).

    slots: M > 1 divides the tail by k-means on keys, weighted by r, and gives each part
    its own; they replace M keys. Deterministic. Evicting again, slots join the tail.

    State: 2 M D numbers a KV head in the model's dtype, M float32. Cost, R window rows
    against S keys: 2 H window S D FLOP. Ours; Gibbs' variational principle. Raises
    ValueError for slots < 1, window < 1, a lift outside 0 .. 1, and too few rows.
    """

    slots: int = 1
    window: int = 64
    lift: float = 0.5

    hidden = False
    repeats = True

    def __post_init__(self):
        for name in ("slots", "window"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; legal is 1 and above")
        if not 0 <= self.lift <= 1:
            raise ValueError(f"lift: {self.lift}; legal are 0 .. 1")

    def charge(self, dim):
        """As many keys of every KV head are given up."""
        return self.slots

    def __call__(self, layer, kept_ks, score_ks, before=None):
        """The slots of one layer of one sequence, B = 1."""
        tail = Tail.of(layer, kept_ks, before)
        rows = list(tail.rows(layer, self.window))
        query_k1d = torch.cat([queries for queries, _ in rows], 1).mean(1, keepdim=True)
        logits_k1s = tail.logits(query_k1d)
        part_kms = parts(tail.keys_ksd, shares(logits_k1s)[:, 0], self.slots)
        logits_kms = logits_k1s.masked_fill(~part_kms, -torch.inf)
        share_kms = shares(logits_kms)
        keys_kmd = narrow(share_kms @ tail.keys_ksd, layer.keys_ksd)
        values_kmd = narrow(share_kms @ tail.values_ksd, layer.values_ksd)
        own_km = query_k1d @ keys_kmd.float().transpose(1, 2)
        bias_km = logits_kms.logsumexp(2) - capped(own_km, layer.softcap)[:, 0]
        made = Slots(keys_kmd[None], values_kmd[None], bias_km[None])
        lift_k = self.lift * mean_gap(made, rows, layer.softcap)
        return Slots(made.keys_bkmd, made.values_bkmd, made.bias_bkm + lift_k[:, None])


def mean_gap(slots, rows, softcap):
    """How far the slots' logsumexp lies below the tail's on average, [K], at least 0.

    rows: (queries, tail logits) in tiles; a row that sees no tail does not count.
    """
    total_k = count_k = 0
    for queries_kxd, logits_kxs in rows:
        exact_kx = logits_kxs.logsumexp(2)
        seen_kx = exact_kx > -torch.inf
        slot_kx = slots.slots(queries_kxd, softcap)[0].logsumexp(2)
        total_k = total_k + torch.where(seen_kx, exact_kx - slot_kx, 0.0).sum(1)
        count_k = count_k + seen_kx.sum(1)
    # Rows before the end of the tail see less than later queries will.
    return (total_k / count_k.clamp_min(1)).clamp_min(0)


def parts(keys_ksd, share_ks, count):
    """The tail in ``count`` parts by k-means on its keys, [K, count, S] bool.

    Starts from stretches of the text with equal shares. Keys without a share belong to
    some part all the same.
    """
    if count == 1:
        return torch.ones_like(share_ks[:, None], dtype=torch.bool)
    place_ks = (share_ks.cumsum(1) * count).long().clamp_max(count - 1)
    for _ in range(_ITERATIONS):
        member_ksm = torch.nn.functional.one_hot(place_ks, count).float()
        weight_ksm = member_ksm * share_ks[..., None]
        mass_km1 = weight_ksm.sum(1)[..., None].clamp_min(1e-12)
        centre_kmd = weight_ksm.transpose(1, 2) @ keys_ksd / mass_km1
        place_ks = torch.cdist(keys_ksd, centre_kmd).argmin(2)
    return torch.nn.functional.one_hot(place_ks, count).transpose(1, 2).bool()
