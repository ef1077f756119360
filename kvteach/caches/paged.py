"""Pages and block tables: a prefix in the layout of paged serving engines.

A pool of pages holds P tokens each. A block table lists, in order of time, which pages
belong to a sequence; a page is held as long as any of its keys is wanted by anyone who
reads it.

    paged        a block table per sequence and KV head: pool [N, P, 1, D]
    paged-layer  one per sequence, shared by the K heads of the layer: pool [N, P, K, D],
                 and a page that one head wants is held for all of them

The pool is that of vLLM's FlashAttention cache and of FlashInfer's "NHD" layout, keys
and values apart; table and lengths are vLLM's ``block_table`` and ``seq_lens`` (for
"paged" every head is a sequence of its own with one KV head). An engine attends to all
that a page holds; here attention sees the kept keys only, so the layouts differ in bytes
and not in results. For whole pages both are the same.
"""

import math
from dataclasses import dataclass, replace

import torch

from kvteach.caches.store import Dense
from kvteach.rows.unions import pages_of


@dataclass(frozen=True)
class Paged:
    """Keys and values [N, P, G, D], found through block tables of G heads each.

    Sequences may share pages: selecting sequences (beams) copies no keys.
    """

    keys_npgd: torch.Tensor
    values_npgd: torch.Tensor
    firsts_n: torch.Tensor  # int32, position of the first entry of each page
    table_bhm: torch.Tensor  # int32 [B, K / G, most pages], 0 beyond the last page
    lengths_bh: torch.Tensor  # int32, entries in the pages of a table; the last may be short
    seen_npg: torch.Tensor | None  # None: every entry within the length is seen

    def tensors(self):
        """What this prefix owns."""
        owned = {"keys": self.keys_npgd, "values": self.values_npgd,
                 "firsts": self.firsts_n, "table": self.table_bhm,
                 "lengths": self.lengths_bh, "seen": self.seen_npg}
        return {name: t for name, t in owned.items() if t is not None}

    def counts(self):
        """Keys seen per sequence and head, [B, K]."""
        return self._mask().sum(-1)

    def positions(self, sequence, head):
        """Positions of the keys that ``head`` sees, ascending."""
        page = self.keys_npgd.shape[1]
        pages = self.table_bhm[sequence, head // self.keys_npgd.shape[2]].long()
        entries = self.firsts_n[pages, None] + torch.arange(page, device=pages.device)
        return entries.flatten()[self._mask()[sequence, head]]

    def select(self, rows):
        """The prefix whose sequence i is sequence ``rows[i]`` of this one."""
        return replace(self, table_bhm=self.table_bhm[rows], lengths_bh=self.lengths_bh[rows])

    def attend(self, queries_gxd, tail_logits, tail_values, softcap):
        """As `Dense.attend`, over pages that are first laid side by side.

        That copy is what a paged kernel avoids by reading through the table.
        """
        beside = Dense(self._beside(self.keys_npgd), self._beside(self.values_npgd),
                       None, self._mask())
        return beside.attend(queries_gxd, tail_logits, tail_values, softcap)

    def _beside(self, pool):
        """[N, P, G, ...] to [B, K, most pages P, ...]: each head's pages in order."""
        pages = pool[self.table_bhm.long()]  # [B, K / G, M, P, G, ...]
        return pages.movedim(4, 2).flatten(3, 4).flatten(1, 2)

    def _mask(self):
        """Which of them each head sees, [B, K, most pages P]."""
        _, page, group, _ = self.keys_npgd.shape
        slots = torch.arange(self.table_bhm.shape[2] * page, device=self.table_bhm.device)
        inside = (slots < self.lengths_bh[..., None]).repeat_interleave(group, 1)
        return inside if self.seen_npg is None else inside & self._beside(self.seen_npg)


def build(keys_bksd, values_bksd, kept_bks, page, shared, starts=None):
    """Pages of ``page`` tokens with at least one kept key. Returns a `Paged`.

    shared: whether the K heads of a layer share one block table. starts: where each
    sequence begins, after its padding, [B]; pages are counted from there. Raises
    ValueError for a page below 1.
    """
    batch, heads, length, _ = keys_bksd.shape
    group, device = (heads if shared else 1), keys_bksd.device
    tables = (batch, heads // group)
    owners, firsts = [], []  # of every page: which table it belongs to, where it begins
    for b, start in enumerate(starts or [0] * batch):
        wanted_hn = pages_of(kept_bks[b, :, start:], page).unflatten(0, (-1, group)).any(1)
        table, number = wanted_hn.nonzero(as_tuple=True)
        owners.append(table + b * len(wanted_hn))
        firsts.append(start + number * page)
    owner_n, first_n = torch.cat(owners), torch.cat(firsts)
    slot_np = first_n[:, None] + torch.arange(page, device=device)
    inside_np = slot_np < length
    slot_np = slot_np.clamp(max=length - 1)  # beyond the text: whatever, never read

    def pool(tensor):
        tables_tgs = tensor.reshape(math.prod(tables), group, *tensor.shape[2:])
        return tables_tgs[owner_n[:, None], :, slot_np]

    seen_npg = pool(kept_bks) & inside_np[..., None]
    everything = torch.equal(seen_npg, inside_np[..., None].expand_as(seen_npg))
    counts_bh = owner_n.bincount(minlength=math.prod(tables)).view(tables)
    most = int(counts_bh.max())
    table_bhm = torch.zeros(*tables, most, dtype=torch.int32, device=device)
    # Pages lie in the pool table after table, so each table is a run of numbers.
    table_bhm[torch.arange(most, device=device) < counts_bh[..., None]] = torch.arange(
        len(owner_n), dtype=torch.int32, device=device
    )
    lengths = torch.zeros(math.prod(tables), dtype=torch.int32, device=device)
    lengths.index_add_(0, owner_n, inside_np.sum(1, dtype=torch.int32))
    return Paged(pool(keys_bksd), pool(values_bksd), first_n.int(), table_bhm,
                 lengths.view(tables), None if everything else seen_npg)
