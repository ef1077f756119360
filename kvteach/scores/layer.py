"""What a scoring rule may look at: one layer of one sequence after prefill.

A scoring rule is a frozen dataclass whose fields are the rule's parameters and which
can be called: ``rule(layer) -> score_ks``, float32, larger means keep. A score of
+inf says that the key must stay whatever the budget (sinks, the window). Class
attributes tell the engine what the rule needs: ``window``, how many of the last rows that
may rank (None for every row, 0 for none), ``hidden``, whether it reads the hidden states,
and ``unrotates``, whether it turns the rotary embedding back.

The sequence has no padding: the engine takes a batch apart before it scores.
"""

from dataclasses import dataclass
from typing import Any

import torch

from kvteach.attention import soft_capped


@dataclass(frozen=True)
class Layer:
    """One attention layer of one sequence of S tokens."""

    index: int
    queries_htd: torch.Tensor  # after rotary embedding; the last T of the S rows
    keys_ksd: torch.Tensor  # after rotary embedding
    values_ksd: torch.Tensor
    scaling: float
    ranking: int | None = None  # only the first `ranking` of the S rows may rank keys
    softcap: float | None = None  # logits x become softcap * tanh(x / softcap)
    cos_sd: torch.Tensor | None = None  # rotary tables, [S, rotary dimensions]
    sin_sd: torch.Tensor | None = None
    hidden_td: torch.Tensor | None = None  # what the attention module read, if asked for
    module: Any = None  # the attention module, for its weights
    positions_ks: torch.Tensor | None = None  # where the keys stand; None: 0 .. S - 1

    @property
    def length(self):
        """S, the number of keys."""
        return self.keys_ksd.shape[1]

    @property
    def group_size(self):
        """R, the query heads that share one key-value head."""
        return self.queries_htd.shape[0] // self.keys_ksd.shape[0]

    @property
    def last_row(self):
        """One past the last row that may rank."""
        return self.length if self.ranking is None else self.ranking

    def rows(self, count=None):
        """First and one past the last of the ``count`` last rows that may rank.

        All recorded rows by default. Raises ValueError when fewer were recorded.
        """
        first_recorded = self.length - self.queries_htd.shape[1]
        first = first_recorded if count is None else self.last_row - count
        if first < first_recorded or first < 0:
            recorded = max(self.last_row - first_recorded, 0)
            raise ValueError(f"layer {self.index}: {recorded} rows can rank, {count} are needed")
        return first, self.last_row

    def logits(self, first, last):
        """Attention logits of rows first .. last - 1, [H, rows, S] float32.

        -inf for keys after a row itself. Cost 2 H rows S D FLOP and 4 H rows S bytes:
        call it in tiles.
        """
        offset = self.length - self.queries_htd.shape[1]
        heads, _, dim = self.queries_htd.shape
        kv_heads = self.keys_ksd.shape[0]
        queries_htd = self.queries_htd[:, first - offset : last - offset].float()
        queries_kxd = (queries_htd * self.scaling).reshape(kv_heads, -1, dim)
        logits = queries_kxd @ self.keys_ksd.float().transpose(1, 2)
        logits = soft_capped(logits.view(heads, last - first, self.length), self.softcap)
        position = torch.arange(first, self.length, device=logits.device)
        future = position > position[: last - first, None]
        logits[..., first:].masked_fill_(future, -torch.inf)  # earlier keys need no mask
        return logits

    def weights(self, first, last):
        """Attention weights of rows first .. last - 1, [H, rows, S] float32.

        The softmax of `logits`: a row gives weight 0 to keys after itself.
        """
        return self.logits(first, last).softmax(-1)

    def tiles(self, count=None, size=128):
        """(first, last, weights) over the ``count`` last ranking rows, a tile at a time."""
        begin, end = self.rows(count)
        for first in range(begin, end, size):
            last = min(first + size, end)
            yield first, last, self.weights(first, last)

    def received(self, count=None):
        """What each key gets from the ``count`` last ranking rows, summed, [H, S] float32."""
        mass_hs = self.keys_ksd.new_zeros(
            self.queries_htd.shape[0], self.length, dtype=torch.float32
        )
        for _first, _last, weights_hts in self.tiles(count):
            mass_hs += weights_hts.sum(1)
        return mass_hs

    def unrotated(self, states_htd, first=None):
        """Queries or keys before rotary embedding: the rotation turned back.

        first: position of the first of the T rows; by default they are the last T.
        Returns a new float32 tensor, which the caller may overwrite. Exact up to
        rounding for embeddings that turn dimension i with i + half, as Llama's do,
        also partial ones; the engine refuses models that do otherwise.
        """
        if self.cos_sd is None:
            return states_htd.to(torch.float32, copy=True)
        rows = states_htd.shape[1]
        first = self.length - rows if first is None else first
        cos = self.cos_sd[first : first + rows].float()
        sin = self.sin_sd[first : first + rows].float()
        scale = cos.square() + sin.square()  # 1, or the square of an attention factor
        cos, sin = cos / scale, sin / scale
        turned_htd = states_htd.to(torch.float32, copy=True)
        half = cos.shape[-1] // 2
        one = states_htd[..., :half].float()
        two = states_htd[..., half : 2 * half].float()
        turned_htd[..., :half].mul_(cos[:, :half]).addcmul_(two, sin[:, half:])
        turned_htd[..., half : 2 * half].mul_(cos[:, half:])
        turned_htd[..., half : 2 * half].addcmul_(one, sin[:, :half], value=-1)
        return turned_htd


def over_groups(score_hs, kv_heads, reduce="mean"):
    """[H, S] to [K, S]: what a key-value head's R query heads say, together."""
    groups = score_hs.view(kv_heads, -1, score_hs.shape[-1])
    return groups.mean(1) if reduce == "mean" else groups.amax(1)
