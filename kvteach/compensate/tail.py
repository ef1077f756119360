"""The evicted keys of one layer, its *tail*, and the recent rows' view of it.

Everything is float32 with leading dimension K; X counts R queries of each row, already
multiplied by the scaling. To a query q the tail is what one key would be that has the
logit log sum_E exp(l_j) and the value sum_E exp(l_j) v_j / sum_E exp(l_j).
"""

from dataclasses import dataclass

import torch

from kvteach.attention import soft_capped

_ROWS = 128  # read together


@dataclass(frozen=True)
class Tail:
    """Evicted keys, and slots of an earlier eviction, which come in as more of them."""

    keys_ksd: torch.Tensor
    values_ksd: torch.Tensor
    bias_ks: torch.Tensor  # 0 for a key, -inf for a kept one, its own for a slot
    softcap: float | None

    @classmethod
    def of(cls, layer, kept_ks, before=None):
        """The tail of a layer (of one sequence) after an eviction.

        layer: a `kvteach.scores.layer.Layer`; kept_ks: bool; before: `Slots` or None.
        """
        keys, values = layer.keys_ksd.float(), layer.values_ksd.float()
        bias = torch.zeros_like(keys[..., 0]).masked_fill(kept_ks, -torch.inf)
        if before is not None:
            keys = torch.cat([keys, before.keys_bkmd[0].float()], 1)
            values = torch.cat([values, before.values_bkmd[0].float()], 1)
            bias = torch.cat([bias, before.bias_bkm[0].float()], 1)
        return cls(keys, values, bias, layer.softcap)

    @property
    def evicted_ks(self):
        """What is in the tail, bool."""
        return self.bias_ks > -torch.inf

    def logits(self, queries_kxd):
        """Logits of the tail, [K, X, S], -inf for what is not in it."""
        dots = queries_kxd @ self.keys_ksd.transpose(1, 2)
        return soft_capped(dots, self.softcap) + self.bias_ks[:, None]

    def older(self, layer, count):
        """What is in the tail and older than the ``count`` last ranking rows, [K, S].

        Recent rows stand for rows to come, and those will have their own recent keys.
        So to these rows, keys from the first of them on count as held.
        """
        older_ks = self.evicted_ks
        older_ks[:, layer.rows(count)[0] : layer.length] = False
        return older_ks

    def rows(self, layer, count):
        """(queries [K, X, D], logits [K, X, S] of all that they see), in tiles.

        count: how many of the last rows that may rank. Kept keys are among what they
        see, keys after a row are not, -inf. Cost 2 H count S D FLOP, at most 4 H 128 S
        bytes at once.
        """
        begin, end = layer.rows(count)
        bias_ks = self.bias_ks.masked_fill(~self.evicted_ks, 0.0)
        for first in range(begin, end, _ROWS):
            last = min(first + _ROWS, end)
            queries_kxd = queries(layer, first, last)
            dots = queries_kxd @ self.keys_ksd.transpose(1, 2)
            logits = soft_capped(dots, self.softcap) + bias_ks[:, None]
            row_t = torch.arange(first, last, device=logits.device)
            row_x = row_t.repeat(layer.group_size)
            place = torch.arange(layer.length, device=logits.device)
            logits[..., : layer.length].masked_fill_(place > row_x[:, None], -torch.inf)
            yield queries_kxd, logits


def queries(layer, first, last):
    """Scaled queries of rows first .. last - 1, [K, R rows, D] float32."""
    offset = layer.length - layer.queries_htd.shape[1]
    kv_heads, _, dim = layer.keys_ksd.shape
    rows_htd = layer.queries_htd[:, first - offset : last - offset].float()
    return (rows_htd * layer.scaling).reshape(kv_heads, -1, dim)


def shares(logits):
    """Softmax along the last dimension, 0 where all logits are -inf."""
    return logits.softmax(-1).nan_to_num(0.0)
