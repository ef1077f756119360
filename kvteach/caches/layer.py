"""One layer of a compressed cache: a prefix that never changes, and a tail that grows.

To transformers it is a cache layer like any other whose length is the number of
tokens *seen*, so that positions stay true after eviction. What attention may read is
less: the kept entries of the prefix, every token since, and what stands for the
evicted ones, the *rest* (`kvteach.compensate`).
"""

import torch
from transformers.cache_utils import CacheLayerMixin

from kvteach.attention import soft_capped

_ROWS = 128  # queries attended to at a time: bounds the memory of a long second turn
_SLACK = 64  # least room for new tokens, in tokens


class CompressedLayer(CacheLayerMixin):
    """A prefix (`kvteach.caches.store`) of ``seen`` tokens, and a tail [B, K, T, D].

    rest: None, or what stands for evicted keys. Its ``slots(queries_gxd, softcap)`` gives
    more logits [G, X, M] and values [G, M, D] to the softmax, or None; its
    ``outside(queries_gxd)`` a term [G, X, D] of its own, or None.
    """

    is_compileable = False
    is_sliding = False
    is_croppable = True

    def __init__(self, prefix, seen, rest=None):
        super().__init__()
        self.prefix = prefix
        self.prefix_seen = seen
        self.rest = rest
        self.length = 0  # tokens in the tail
        self.recent = None  # their queries [B, H, T, D], where keys will be evicted again
        self.is_initialized = True
        # self.keys and self.values hold the tail, with slack; None before any token.

    # --- what transformers asks -------------------------------------------------

    def lazy_initialization(self, key_states, value_states=None):
        """Nothing is left to initialise."""

    def get_seq_length(self, *_):
        """Tokens seen, kept or not."""
        return self.prefix_seen + self.length

    def get_max_length(self):
        """No maximum."""
        return -1

    get_max_cache_shape = get_max_length  # its name before transformers 5.24

    def get_mask_sizes(self, query):
        """Length and offset of the mask: over tokens seen, of which the tail is cut."""
        rows = query if isinstance(query, int) else query.shape[0]
        return self.get_seq_length() + rows, 0

    def update(self, key_states, value_states, *_, **__):
        """Append the new tokens to the tail; returns them."""
        stop = self.length + key_states.shape[2]
        if self.keys is None or stop > self.keys.shape[2]:
            self._grow(key_states, stop)
        self.keys[:, :, self.length : stop] = key_states
        self.values[:, :, self.length : stop] = value_states
        self.length = stop
        return key_states, value_states

    def crop(self, tokens):
        """Forget the last ``-tokens`` tokens; only the tail can be cut."""
        if not 0 <= -tokens <= self.length:
            raise ValueError(
                f"crop: {tokens}; only the {self.length} tokens since compression can be "
                f"removed, by a negative number"
            )
        self.length += tokens
        if tokens and self.recent is not None:
            self.recent = self.recent[:, :, :tokens]

    def reorder_cache(self, beam_idx):
        """Sequence i becomes what sequence ``beam_idx[i]`` was."""
        self.batch_select_indices(beam_idx)

    def batch_repeat_interleave(self, repeats):
        """Each sequence ``repeats`` times, one after another."""
        batch = len(self.prefix.counts())
        self.batch_select_indices(torch.arange(batch).repeat_interleave(repeats))

    def batch_select_indices(self, indices):
        """Keep the named sequences, in that order."""
        self.prefix = self.prefix.select(indices)
        if self.rest is not None:
            self.rest = self.rest.select(indices)
        if self.recent is not None:
            self.recent = self.recent[indices.to(self.recent.device)]
        if self.keys is not None:
            rows = indices.to(self.keys.device)
            self.keys, self.values = self.keys[rows], self.values[rows]

    def start_again(self, prefix, rest):
        """Everything but the newest token is now in another prefix and rest."""
        newest = slice(self.length - 1, self.length)
        self.prefix, self.rest = prefix, rest
        self.prefix_seen += self.length - 1
        self.keys, self.values = (t[:, :, newest].clone() for t in (self.keys, self.values))
        self.length, self.recent = 1, None

    def reset(self):
        """Refused: the evicted keys are gone, an empty prefix would be another cache."""
        raise NotImplementedError("a compressed cache cannot be reset; compress again")

    # --- attention ----------------------------------------------------------------

    def attend(self, query_bhtd, mask, scaling, softcap=None):
        """Attention of the T newest tokens over prefix and tail, [B, T, H, D].

        mask: None, or boolean [B, 1, T, seen] over all tokens seen; its last columns
        are the tail's, and the prefix holds no padding. Cost 4 H T D FLOP and
        2 D itemsize bytes for every kept key; sums run in float32.
        """
        batch, heads, rows, dim = query_bhtd.shape
        segments = batch * self.keys.shape[1]  # one a sequence and KV head
        wide = query_bhtd.dtype if query_bhtd.dtype == torch.float64 else torch.float32
        queries = (query_bhtd.to(wide) * scaling).reshape(segments, -1, rows, dim)
        keys = self.keys.flatten(0, 1)[:, : self.length].to(wide).transpose(1, 2)
        values = self.values.flatten(0, 1)[:, : self.length].to(wide)
        visible = self._visible(mask, rows, query_bhtd.device)
        outputs = []
        for first in range(0, rows, _ROWS):
            tile = queries[:, :, first : first + _ROWS]
            count = tile.shape[2]
            tile = tile.reshape(segments, -1, dim)
            logits = soft_capped(torch.bmm(tile, keys), softcap)
            if visible is not None:
                hidden = ~visible[:, :, first : first + count]
                logits = logits.view(batch, heads, count, -1).masked_fill(hidden, -torch.inf)
                logits = logits.view(segments, -1, self.length)
            outputs.append(
                self._with_rest(tile, logits, values, softcap).view(batch, heads, count, dim)
            )
        out = outputs[0] if len(outputs) == 1 else torch.cat(outputs, 2)
        return out.transpose(1, 2).to(query_bhtd.dtype).contiguous()

    def _with_rest(self, tile, logits, values, softcap):
        """Attention of a tile of queries over prefix, rest and tail, [G, X, D]."""
        if self.rest is None:
            return self.prefix.attend(tile, logits, values, softcap)
        slots, outside = self.rest.slots(tile, softcap), self.rest.outside(tile)
        if slots is not None:
            logits, values = torch.cat((slots[0], logits), 2), torch.cat((slots[1], values), 1)
        out = self.prefix.attend(tile, logits, values, softcap)
        return out if outside is None else out + outside

    def _visible(self, mask, rows, device):
        """Which tail tokens each of the new ones may see, [B, 1, T, tail], None for all."""
        if mask is not None:
            return mask[..., -self.length :].bool()
        if rows == 1:
            return None
        new = torch.arange(self.length - rows, self.length, device=device)
        return (torch.arange(self.length, device=device) <= new[:, None])[None, None]

    # --- storage --------------------------------------------------------------------

    def tensors(self):
        """Every tensor that this layer owns, by name."""
        tail = {} if self.keys is None else {"tail keys": self.keys, "tail values": self.values}
        if self.recent is not None:
            tail["recent queries"] = self.recent
        rest = {} if self.rest is None else self.rest.tensors()
        return {**self.prefix.tensors(), **{f"rest {n}": t for n, t in rest.items()}, **tail}

    def fork(self):
        """A layer that grows on its own from here; the prefix is shared, not copied."""
        other = CompressedLayer(self.prefix, self.prefix_seen, self.rest)
        other.length, other.recent = self.length, self.recent
        if self.length:
            other.keys = self.keys[:, :, : self.length].clone()
            other.values = self.values[:, :, : self.length].clone()
        return other

    def _grow(self, like, needed):
        """Room for ``needed`` tokens and a quarter more, keeping what is there."""
        room = max(needed + needed // 4, self.length + _SLACK)
        batch, heads, _, dim = like.shape
        for name in ("keys", "values"):
            grown = like.new_empty(batch, heads, room, dim)
            if self.length:
                grown[:, :, : self.length] = getattr(self, name)[:, :, : self.length]
            setattr(self, name, grown)
