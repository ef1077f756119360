"""A slot for queries not yet seen: the tail's tangent at the mean recent query.

The evicted keys act on a query q through f(q) = log sum_E exp(q k_j), a convex
function, and a slot through the affine q k + b. The highest affine functions that stay
below f are its tangents: the one at q0 has the key and bias

    k = sum r_j k_j,   b = H(r),   r = softmax(q0 k_j)  over the tail,

and with value sum r_j v_j the slot answers q0 exactly. Elsewhere it is too light, and
its value is another row's. How heavy it should be, recent rows say: their outputs are
known.
"""

from dataclasses import dataclass

import torch

from kvteach.attention import soft_capped
from kvteach.compensate.tail import Tail, shares
from kvteach.compensate.tail_slot import Slots, narrow

LIFTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Heavier slots that are tried: parts of the mean gap to the tail's mass."""

CUTS = (0.5, 1.0, 2.0, 3.0, 4.0, torch.inf)
"""Lighter ones: nats below the tangent; the last is no slot at all."""

_ITERATIONS = 8  # of k-means; more change nothing that can be measured


@dataclass(frozen=True)
class TangentSlot:
    """Slots that are exact at the mean query of the last rows; returns `Slots`.

    q0 is the mean of the scaled queries of the last ``window`` rows that may rank, over
    rows and the R heads of a group. r = softmax(q0 k_j) over the evicted keys; the slot
    has key sum r_j k_j (rounded to the model's dtype), value sum r_j v_j and the bias
    that makes it exact at q0, H(r) but for rounding. Of f less the slot's logit these
    rows' mean is the gap, and the bias is changed by

        lift None: what leaves the least sum of squared errors of their outputs, head by
          head, of `LIFTS` times the gap and minus `CUTS`; the last means no slot;
        lift a number: lift times the gap. 0 is safe: no query ever gives the slot more
          than the tail's own mass (without soft-capping).

    To these rows, evicted keys that are not older than they count as held, since rows
    to come will have recent keys of their own.

    slots: M > 1 divides the tail by k-means on keys, weighted by r, and gives each part
    its own; they replace M keys. Deterministic. Evicting again, slots join the tail.

    State: 2 M D numbers a KV head in the model's dtype, M float32. Cost: 6 H window S D
    FLOP. Ours; Gibbs' variational principle. Raises ValueError for slots < 1, window
    < 1, a lift outside 0 .. 1, and too few rows.
    """

    slots: int = 1
    window: int = 32
    lift: float | None = None

    hidden = False
    repeats = True

    def __post_init__(self):
        for name in ("slots", "window"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; legal is 1 and above")
        if self.lift is not None and not 0 <= self.lift <= 1:
            raise ValueError(f"lift: {self.lift}; legal are None and 0 .. 1")

    def charge(self, dim):
        """As many keys of every KV head are given up."""
        return self.slots

    def __call__(self, layer, kept_ks, score_ks, before=None):
        """The slots of one layer of one sequence, B = 1."""
        tail = Tail.of(layer, kept_ks, before)
        rows = list(tail.rows(layer, self.window))
        query_k1d = torch.cat([queries for queries, _ in rows], 1).mean(1, keepdim=True)
        made = self._tangents(tail, query_k1d, layer)
        seen = _Seen.by(rows, tail, tail.older(layer, self.window), made, layer.softcap)
        if self.lift is not None:
            change_k = self.lift * seen.gap()
        else:
            change_k = seen.best_change()
        bias_bkm = made.bias_bkm + change_k[:, None]
        return Slots(made.keys_bkmd, made.values_bkmd, bias_bkm)

    def _tangents(self, tail, query_k1d, layer):
        """`Slots` that are exact at the query."""
        logits_k1s = tail.logits(query_k1d)
        part_kms = parts(tail.keys_ksd, shares(logits_k1s)[:, 0], self.slots)
        logits_kms = logits_k1s.masked_fill(~part_kms, -torch.inf)
        share_kms = shares(logits_kms)
        keys_kmd = narrow(share_kms @ tail.keys_ksd, layer.keys_ksd)
        values_kmd = narrow(share_kms @ tail.values_ksd, layer.values_ksd)
        own_km = query_k1d @ keys_kmd.float().transpose(1, 2)
        bias_km = logits_kms.logsumexp(2) - soft_capped(own_km, layer.softcap)[:, 0]
        return Slots(keys_kmd[None], values_kmd[None], bias_km[None])


@dataclass(frozen=True)
class _Seen:
    """Recent rows' attention in parts: held keys, older evicted ones, the slots."""

    held: tuple  # (log mass [K, X], mean value [K, X, D])
    evicted: tuple
    slots: tuple

    @classmethod
    def by(cls, rows, tail, older_ks, slots, softcap):
        """Of the rows of `Tail.rows`."""
        each = []
        for queries_kxd, logits in rows:
            weights, log_mass = logits.softmax(2), logits.logsumexp(2)
            outside = weights * older_ks[:, None]
            more, values = slots.slots(queries_kxd, softcap)
            each.append((
                _part(weights - outside, log_mass, tail.values_ksd),
                _part(outside, log_mass, tail.values_ksd),
                (more.logsumexp(2), shares(more) @ values),
            ))
        joined = [[torch.cat(tiles, 1) for tiles in zip(*part)] for part in zip(*each)]
        return cls(*joined)

    def gap(self):
        """How far the slots' log mass lies below the evicted keys', mean, [K], >= 0."""
        gap_kx = self.evicted[0] - self.slots[0]
        gap_kx = torch.where(self.evicted[0] > -torch.inf, gap_kx, 0.0)
        return gap_kx.mean(1).clamp_min(0)  # the tail's newest keys are not in it

    def best_change(self):
        """The change of the bias that serves these rows' outputs best, [K]."""
        gap_k = self.gap()
        changes = [lift * gap_k for lift in LIFTS]
        changes += [torch.full_like(gap_k, -cut) for cut in CUTS]
        change_ck = torch.stack(changes)
        error_ck = torch.stack([self._error(change_k) for change_k in change_ck])
        return change_ck.gather(0, error_ck.argmin(0, keepdim=True))[0]

    def _error(self, change_k):
        """Sum over the rows of squared distances to the dense output, [K]."""
        dense = _joined(self.held, self.evicted)
        changed = self.slots[0] + change_k[:, None], self.slots[1]
        return (_joined(self.held, changed) - dense).square().sum((1, 2))


def _part(weights, log_mass, values):
    """Log mass and mean value of a part of rows' weights; -inf and 0 for none."""
    share = weights.sum(2)
    least = torch.finfo(share.dtype).tiny
    return log_mass + share.log(), weights @ values / share.clamp_min(least)[..., None]


def _joined(one, two):
    """Mean value of two parts of a softmax, [K, X, D]."""
    share = torch.sigmoid(two[0] - one[0])[..., None]
    return one[1] + share * (two[1] - one[1])


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
