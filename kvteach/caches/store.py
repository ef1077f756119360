"""Where kept keys and values lie: one layer's prefix, for B sequences and K heads.

Every layout answers the same three questions: what attention over it gives, which
positions it holds, and which tensors it owns (`tensors`, from whose storage bytes are
counted). A prefix never changes; tokens that come later go to the tail of the layer.

    masked   all S keys, and a mask that hides the evicted ones: frees nothing
    padded   [B, K, M, D] with M the widest head, which all heads pay for; a uniform
             cache is one in which every head keeps M
    ragged   [sum of kept, D], flat, with offsets: pays for exactly what is kept
    paged, paged-layer   pages found through block tables, one a head or one a layer:
             pay for every page with a kept key (`kvteach.caches.paged`)
"""

from dataclasses import dataclass, field, replace

import torch

from kvteach.attention import soft_capped

KINDS = ("masked", "padded", "ragged", "paged", "paged-layer")


def build(
    kind, keys_bksd, values_bksd, kept_bks, positions_bks=None, page=16, starts=None
):
    """Store the keys and values that ``kept_bks`` (bool) marks. Returns the prefix.

    kind: one of `KINDS`. The prefix owns copies, in order of time; what was passed in
    can be freed. positions_bks: where the keys stand in the text, int32, ascending;
    0 .. S - 1 by default, and only a padded store takes others. page, starts: tokens of
    a page, and where each sequence begins after its padding, [B]; only paged stores
    read them. Raises ValueError for another kind or shapes that do not agree.
    """
    if kind not in KINDS:
        raise ValueError(f"store: {kind!r}; there are {', '.join(KINDS)}")
    if kept_bks.dtype != torch.bool or kept_bks.shape != keys_bksd.shape[:3]:
        raise ValueError(
            f"kept: {kept_bks.dtype} of shape {list(kept_bks.shape)}; "
            f"need bool of shape {list(keys_bksd.shape[:3])}"
        )
    if positions_bks is not None:
        if kind != "padded":
            raise ValueError(f"positions: a {kind} store holds keys 0 .. S - 1 of a text")
        return _padded(keys_bksd, values_bksd, kept_bks, positions_bks)
    if kind.startswith("paged"):
        from kvteach.caches import paged  # it builds on this file

        shared = kind == "paged-layer"
        return paged.build(keys_bksd, values_bksd, kept_bks, page, shared, starts)
    return {"masked": _masked, "padded": _padded, "ragged": _ragged}[kind](
        keys_bksd, values_bksd, kept_bks
    )


# --- dense: masked and padded -------------------------------------------------


@dataclass(frozen=True)
class Dense:
    """Keys and values [B, K, M, D]; entries that ``mask_bkm`` marks False are not seen."""

    keys_bkmd: torch.Tensor
    values_bkmd: torch.Tensor
    positions_bkm: torch.Tensor | None  # int32; None: entry i is position i
    mask_bkm: torch.Tensor | None  # None: all entries are seen

    def tensors(self):
        """What this prefix owns."""
        owned = (self.keys_bkmd, self.values_bkmd, self.positions_bkm, self.mask_bkm)
        return {name: t for name, t in zip(("keys", "values", "positions", "mask"), owned)
                if t is not None}

    def counts(self):
        """Keys seen per sequence and head, [B, K]."""
        if self.mask_bkm is not None:
            return self.mask_bkm.sum(-1)
        return torch.full(self.keys_bkmd.shape[:2], self.keys_bkmd.shape[2])

    def entry_positions(self):
        """Position of every entry, hidden ones too, [B, K, M] int32."""
        if self.positions_bkm is not None:
            return self.positions_bkm
        entries = torch.arange(
            self.keys_bkmd.shape[2], dtype=torch.int32, device=self.keys_bkmd.device
        )
        return entries.expand(self.keys_bkmd.shape[:3])

    def positions(self, sequence, head):
        """Positions of the keys that ``head`` sees, ascending."""
        entries = self.entry_positions()[sequence, head].long()
        return entries if self.mask_bkm is None else entries[self.mask_bkm[sequence, head]]

    def select(self, rows):
        """The prefix whose sequence i is sequence ``rows[i]`` of this one."""
        picked = (t if t is None else t[rows] for t in (
            self.keys_bkmd, self.values_bkmd, self.positions_bkm, self.mask_bkm))
        return Dense(*picked)

    def attend(self, queries_gxd, tail_logits, tail_values, softcap):
        """Softmax attention over prefix and tail together, [G, X, D].

        G = B K, a sequence and KV head each, whose X queries see all its entries and
        those of the tail by ``tail_logits`` [G, X, T]; ``tail_values``: [G, T, D].
        """
        keys_gmd = _like(self.keys_bkmd, queries_gxd).flatten(0, 1)
        values_gmd = _like(self.values_bkmd, queries_gxd).flatten(0, 1)
        logits = soft_capped(torch.bmm(queries_gxd, keys_gmd.transpose(1, 2)), softcap)
        if self.mask_bkm is not None:
            logits = logits.masked_fill(~self.mask_bkm.flatten(0, 1)[:, None], -torch.inf)
        weights = torch.cat((logits, tail_logits), 2).softmax(2)
        kept, tail = weights.split_with_sizes((logits.shape[2], tail_logits.shape[2]), 2)
        return torch.baddbmm(torch.bmm(tail, tail_values), kept, values_gmd)


def _masked(keys, values, kept):
    everything = bool(kept.all())
    return Dense(keys.contiguous().clone(), values.contiguous().clone(), None,
                 None if everything else kept.clone())


def _padded(keys, values, kept, positions=None):
    counts = kept.sum(-1)
    widest = int(counts.max()) if counts.numel() else 0
    # Kept entries first, in order of time: a stable sort of "was evicted".
    order = (~kept).to(torch.uint8).sort(stable=True, dim=-1).indices[..., :widest]
    take = order[..., None].expand(-1, -1, -1, keys.shape[-1])
    seen = torch.arange(widest, device=keys.device) < counts[..., None]
    places = order.int() if positions is None else positions.gather(2, order)
    return Dense(keys.gather(2, take), values.gather(2, take), places,
                 None if bool(seen.all()) else seen)


# --- ragged ---------------------------------------------------------------------


@dataclass(frozen=True)
class Ragged:
    """Flat keys and values [total, D]; head (b, k) owns entries start .. start + count.

    The layout that variable-length attention kernels read. Sequences may share
    entries: selecting sequences (beams) copies no keys.
    """

    keys_nd: torch.Tensor
    values_nd: torch.Tensor
    positions_n: torch.Tensor  # int32
    starts_bk: torch.Tensor  # int32
    counts_bk: torch.Tensor  # int32
    segments: tuple  # the same as Python numbers, for the loop on the CPU
    _cached: list = field(default_factory=list, init=False, repr=False, compare=False)

    def tensors(self):
        """What this prefix owns."""
        return {"keys": self.keys_nd, "values": self.values_nd,
                "positions": self.positions_n, "starts": self.starts_bk,
                "counts": self.counts_bk}

    def counts(self):
        """Keys kept per sequence and head, [B, K]."""
        return self.counts_bk

    def positions(self, sequence, head):
        """Positions of the keys that ``head`` sees, ascending."""
        start, stop = self.segments[sequence][head]
        return self.positions_n[start:stop].long()

    def select(self, rows):
        """The prefix whose sequence i is sequence ``rows[i]`` of this one."""
        return replace(self, starts_bk=self.starts_bk[rows], counts_bk=self.counts_bk[rows],
                       segments=tuple(self.segments[int(row)] for row in rows))

    def attend(self, queries_gxd, tail_logits, tail_values, softcap):
        """As `Dense.attend`; reads each kept key once, never a padded copy of them."""
        return attend_views(self._views(), queries_gxd, tail_logits, tail_values, softcap)

    def _views(self):
        """(keys [D, n], values [n, D], None) of every sequence and head: made once."""
        if not self._cached:
            self._cached.extend(
                (self.keys_nd[start:stop].t(), self.values_nd[start:stop], None)
                for heads in self.segments
                for start, stop in heads
            )
        return self._cached


def _ragged(keys, values, kept):
    batch, heads, length, _ = keys.shape
    counts = kept.sum(-1).flatten()
    starts = counts.cumsum(0) - counts
    bounds = torch.stack([starts, starts + counts], -1).view(batch, heads, 2).tolist()
    # Boolean indexing runs through (b, k, s) in order: heads one after another, each
    # in order of time.
    positions = torch.arange(length, dtype=torch.int32, device=keys.device)
    return Ragged(
        keys[kept], values[kept], positions.expand(batch, heads, -1)[kept],
        starts.view(batch, heads).int(), counts.view(batch, heads).int(),
        tuple(tuple(map(tuple, row)) for row in bounds),
    )


def attend_views(views, queries_gxd, tail_logits, tail_values, softcap):
    """As `Dense.attend`, over (keys [D, n], values [n, D], hidden) of each of the G.

    hidden: bool [n], True on entries that are not seen, or None. The loop is lean
    because at a token a time its overhead, not its arithmetic, is the cost.
    """
    outputs = []
    for (keys_dn, values_nd, hidden_n), queries_xd, logits_xt, values_td in zip(
        views, queries_gxd.unbind(), tail_logits.unbind(), tail_values.unbind()
    ):
        logits = soft_capped(queries_xd.mm(_like(keys_dn, queries_xd)), softcap)
        if hidden_n is not None:
            logits = logits.masked_fill(hidden_n, -torch.inf)
        weights = torch.cat((logits, logits_xt), 1).softmax(1)
        kept, tail = weights.split_with_sizes((keys_dn.shape[1], logits_xt.shape[1]), 1)
        outputs.append(torch.addmm(tail.mm(values_td), kept, _like(values_nd, queries_xd)))
    return torch.stack(outputs)


def _like(stored, computing):
    """Stored numbers in the type that is computed in: half precision widens."""
    return stored if stored.dtype == computing.dtype else stored.to(computing.dtype)
