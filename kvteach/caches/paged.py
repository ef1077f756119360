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
from dataclasses import dataclass, field, replace

import torch

from kvteach.caches.store import attend_views
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
    _cached: list = field(default_factory=list, init=False, repr=False, compare=False)

    def tensors(self):
        """What this prefix owns."""
        owned = {"keys": self.keys_npgd, "values": self.values_npgd,
                 "firsts": self.firsts_n, "table": self.table_bhm,
                 "lengths": self.lengths_bh, "seen": self.seen_npg}
        return {name: t for name, t in owned.items() if t is not None}

    def counts(self):
        """Keys seen per sequence and head, [B, K]."""
        group = self.keys_npgd.shape[2]
        if self.seen_npg is None:
            return self.lengths_bh.repeat_interleave(group, 1)
        counts = [keys_dn.shape[1] if hidden_n is None else int((~hidden_n).sum())
                  for keys_dn, _, hidden_n in self._views()]
        return torch.tensor(counts).view(len(self.table_bhm), -1)

    def positions(self, sequence, head):
        """Positions of the keys that ``head`` sees, ascending."""
        _, page, group, _ = self.keys_npgd.shape
        table, place = divmod(head, group)
        length = int(self.lengths_bh[sequence, table])
        pages = self.table_bhm[sequence, table, : -(-length // page)].long()
        entries = self.firsts_n[pages, None] + torch.arange(page, device=pages.device)
        entries = entries.flatten()[:length]
        if self.seen_npg is None:
            return entries
        return entries[self.seen_npg[pages, :, place].flatten()[:length]]

    def select(self, rows):
        """The prefix whose sequence i is sequence ``rows[i]`` of this one."""
        return replace(self, table_bhm=self.table_bhm[rows], lengths_bh=self.lengths_bh[rows])

    def attend(self, queries_gxd, tail_logits, tail_values, softcap):
        """As `Dense.attend`; reads each held page once, in place."""
        return attend_views(self._views(), queries_gxd, tail_logits, tail_values, softcap)

    def _views(self):
        """(keys [D, n], values [n, D], hidden [n]) of every sequence and head: made once.

        Here the pages of a table lie one behind the other in the pool, in order, so
        no page has to be fetched on its own as a kernel does in an engine's pool.
        """
        if not self._cached:
            _, page, group, _ = self.keys_npgd.shape
            firsts = self.table_bhm[..., :1].flatten(0, 1).sum(1).tolist()  # 0 for no page
            for first, length in zip(firsts, self.lengths_bh.flatten().tolist()):
                run = slice(first, first - (-length // page))
                for head in range(group):
                    keys, values = (pool[run, :, head].flatten(0, 1)[:length]
                                    for pool in (self.keys_npgd, self.values_npgd))
                    seen = None if self.seen_npg is None else (
                        self.seen_npg[run, :, head].flatten()[:length])
                    hidden = None if seen is None or bool(seen.all()) else ~seen
                    self._cached.append((keys.t(), values, hidden))
        return self._cached


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
