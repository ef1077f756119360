"""One pass over the prompt; each layer is compressed as soon as it has been seen."""

import time
from dataclasses import dataclass

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from kvteach import attention, models
from kvteach.caches import account, store
from kvteach.caches.layer import CompressedLayer
from kvteach.engine import dense, evict, loss
from kvteach.engine.ledger import Ledger
from kvteach.scores.layer import Layer


@dataclass
class RowsRead:
    """What one layer's attention has read so far, beside its keys and values."""

    queries: torch.Tensor | None  # [B, H, rows, D], the last rows that are needed
    hidden: list
    rotary: list


class Prefill:
    """Runs the model over ``plan.tokens_bt`` and builds the compressed layers."""

    def __init__(self, model, plan):
        self.model, self.plan = model, plan
        self.method = plan.method
        self.score = plan.method.score if plan.evicts else None
        self.streams = self.score is not None and plan.method.budget.scope == "layer" and (
            not self._replays()
        )
        self.length = plan.tokens_bt.shape[1]
        self.read = {}  # layer -> RowsRead, while its chunks come in
        self.waiting = {}  # layer -> (keys, values), uncompressed
        self.views = {}  # layer -> its `Layer`s, where something stands for evicted keys
        self.scores = {}  # layer -> score_ks of each sequence
        self.layers = {}  # layer -> cache layer, finished
        self.ledger = Ledger()
        self.stop = 0  # tokens read, the present chunk included
        self.inputs = {}  # layer -> (hidden states, rotary tables) of the present chunk
        self.chunks = None  # transformers' cache, where the prompt comes in chunks
        self.final_rows, self.final = loss.rows_needed(plan), None  # [B, rows, E], if read
        self.known = None  # layer -> its scores, where compressions share them

    def run(self, chunk=None):
        """Read everything; returns the cache layers in order and the ledger."""
        began = time.perf_counter()
        hooks = [
            module.register_forward_pre_hook(self._note, with_kwargs=True)
            for module in self.model.base_model.modules()
            if hasattr(module, "layer_idx") and type(module).__name__.endswith("Attention")
        ]
        try:
            with attention.replaced(self.model, self._attend, capped=True), torch.no_grad():
                self._forward(chunk)
        finally:
            for hook in hooks:
                hook.remove()
        self._require_all_layers()
        result = self._finished()
        self.ledger.seconds["prefill"] = (
            time.perf_counter() - began - self.ledger.seconds["compression"]
        )
        return result

    def reuse(self, recorded, known):
        """Compress what a `Recorder` has read; returns what `run` returns.

        known: scores that earlier calls have made of it, by layer; new ones are added.
        """
        self.stop, self.known = self.length, known
        for read, seen in recorded:
            self.read[seen[0].layer_idx] = read
            self._seen(*seen)
        return self._finished()

    def _finished(self):
        """The cache layers in order, and the ledger."""
        if self.waiting:
            self._finish_together()
        layers = [self.layers[index] for index in sorted(self.layers)]
        self.ledger.note_compressed(layers, self.plan, self.model)
        return layers, self.ledger

    def _replays(self):
        return getattr(self.score, "second_pass", False)

    def _forward(self, chunk):
        ids, mask = self.plan.tokens_bt, self.plan.mask_bt
        padded = not bool(mask.all())
        positions = (mask.long().cumsum(1) - 1).clamp_min(0)
        step = min(chunk or self.length, self.length)
        if step < self.length:
            self.chunks = DynamicCache(config=self.model.config)
        for first in range(0, self.length, step):
            self.stop = min(first + step, self.length)
            inputs = {"use_cache": self.chunks is not None}
            if self.chunks is not None:
                inputs[models.cache_argument(self.model)] = self.chunks
            if padded:
                inputs["attention_mask"] = mask[:, : self.stop].long()
            output = self.model.base_model(
                ids[:, first : self.stop],
                position_ids=positions[:, first : self.stop],
                **inputs,
            )
            if self.final_rows:
                self.final = loss.last_rows(self.final, output, self.final_rows)

    # --- one layer ------------------------------------------------------------------

    def _note(self, module, args, kwargs):
        """Remember what an attention module is about to read."""
        hidden = kwargs.get("hidden_states", args[0] if args else None)
        self.inputs[module.layer_idx] = (hidden, kwargs.get("position_embeddings"))

    def _attend(self, module, query, key, value, mask, scaling, softcap=None, **_):
        output = dense.attend(module, query, key, value, mask, scaling, softcap)
        index = module.layer_idx
        if self.plan.windows[index] is None:
            self._collect(index, query)
        if self.stop == self.length:
            began = time.perf_counter()
            self._seen(module, key, value, scaling, softcap)
            self.ledger.seconds["compression"] += time.perf_counter() - began
            if self.chunks is not None:
                self.chunks.layers[index] = DynamicLayer()  # we hold what we need of it
        self.inputs.pop(index, None)
        return output, None

    def _collect(self, index, query):
        """Keep what the method will read of this chunk: its rows and hidden states."""
        if self.score is None or (self._replays() and self.method.compensate is None):
            return
        read = self.read.setdefault(index, RowsRead(None, [], []))
        hidden, rotary = self.inputs.get(index, (None, None))
        if read.queries is not None:
            query = torch.cat([read.queries, query], 2)
        read.queries = query[:, :, -self._rows_needed() :]
        if rotary is not None:
            read.rotary.append(rotary)
        if getattr(self.score, "hidden", False):
            if hidden is None:
                raise NotImplementedError(
                    f"layer {index} does not show its hidden states, which "
                    f"{self.method.name} reads"
                )
            read.hidden.append(hidden)

    def _rows_needed(self):
        """How many of the last rows the method may read."""
        window = evict.rows_read(self.method)
        if window is None:
            return self.length
        later = [n - r for n, r in zip(self.plan.lengths, self.plan.rankings) if r is not None]
        return max(window + max(later, default=0), 1)

    def _seen(self, module, key, value, scaling, softcap):
        """All rows of a layer have been read: score it, compress it if it stands alone."""
        index = module.layer_idx
        window = self.plan.windows[index]
        if window is not None:
            self.layers[index] = self._sliding(key, value, window)
            return
        if not torch.isfinite(key).all() or not torch.isfinite(value).all():
            raise ValueError(
                f"model: layer {index} makes keys or values that are not finite; its "
                "weights hold NaN or infinities, or overflow in this dtype"
            )
        self.waiting[index] = (key, value)
        if self.score is None:
            self._store(index, [None] * len(key))
            return
        read = self.read.pop(index, None)
        views = [] if read is None else list(
            self._views(module, read, key, value, scaling, softcap)
        )
        if self.method.compensate is not None:
            self.views[index] = views
        if not self._replays():
            self.scores[index] = self._shared(index, lambda: self._scored(views))
        if self.streams:
            scores = self.scores.pop(index)
            kept = [self._keep(b, [score], [index])[0] for b, score in enumerate(scores)]
            self._store(index, kept, scores)

    def _shared(self, name, make):
        """What ``make`` gives, made once where compressions share it."""
        if self.known is None:
            return make()
        if name not in self.known:
            self.known[name] = make()
        return self.known[name]

    def _scored(self, views):
        """Scores of each sequence; zeros where nothing has to go."""
        return [
            evict.checked(self.method, self.score(view), view.index)
            if entries < view.length else torch.zeros(view.keys_ksd.shape[:2])
            for view, entries in zip(views, self.plan.entries)
        ]

    def _views(self, module, read, key, value, scaling, softcap):
        """The `Layer` of each sequence, without padding."""
        query = read.queries
        hidden = torch.cat(read.hidden, 1) if read.hidden else None
        cos = torch.cat([c for c, _ in read.rotary], 1) if read.rotary else None
        sin = torch.cat([s for _, s in read.rotary], 1) if read.rotary else None
        for b, length in enumerate(self.plan.lengths):
            first = self.length - length
            turn = min(b, len(cos) - 1) if cos is not None else 0
            yield Layer(
                module.layer_idx,
                query[b, :, max(query.shape[2] - length, 0) :],
                key[b, :, first:],
                value[b, :, first:],
                scaling,
                ranking=self.plan.rankings[b],
                softcap=softcap,
                cos_sd=None if cos is None else cos[turn, first:],
                sin_sd=None if sin is None else sin[turn, first:],
                hidden_td=None if hidden is None else hidden[b, first:],
                module=module,
            )

    def _keep(self, b, scores, indices):
        """Kept masks of sequence ``b`` in layers that wait."""
        first = self.length - self.plan.lengths[b]
        compressed = [i for i, window in enumerate(self.plan.windows) if window is None]
        return evict.keep(
            self.method, scores, [self.waiting[i][1][b, :, first:] for i in indices],
            self.plan.entries[b], [compressed.index(i) for i in indices], len(compressed),
            loss.of_sequence(self.model, self.plan, self.final, b),
        )

    def _store(self, index, kept, scores=None):
        """Turn a waiting layer into a compressed one; kept[b]: [K, S_b] or None for all."""
        rest = None
        if scores is not None:
            rest = evict.rest(self.method, self.views.pop(index, []), kept, scores)
        key, value = self.waiting[index]
        kept_bks = self.plan.mask_bt[:, None].expand(key.shape[:3]).clone()
        for b, kept_ks in enumerate(kept):
            if kept_ks is not None:
                kept_bks[b, :, self.length - kept_ks.shape[1] :] = kept_ks
        prefix = store.build(
            self.plan.store, key[:, :, :-1], value[:, :, :-1], kept_bks[:, :, :-1],
            page=getattr(self.method.budget, "page", 16),
            starts=[self.length - length for length in self.plan.lengths],
        )
        self.layers[index] = CompressedLayer(prefix, self.length - 1, rest)
        self.ledger.note_peak(self._held())  # the moment when both are there
        del self.waiting[index]

    def _sliding(self, key, value, window):
        """transformers' own layer, holding the window before the held-out token."""
        recent = slice(-window, -1) if key.shape[2] > window else slice(0, -1)
        return dense.sliding_layer(
            key[:, :, recent], value[:, :, recent], window, self.length - 1
        )

    # --- all layers together ----------------------------------------------------------

    def _finish_together(self):
        """Score by a second pass if the rule asks for one, then divide one budget."""
        began = time.perf_counter()
        indices = sorted(self.waiting)
        kept, scored = {i: [] for i in indices}, {i: [] for i in indices}
        for b, length in enumerate(self.plan.lengths):
            if self._replays():  # over a full cache of this sequence's own
                share = length / (self.length * len(self.plan.lengths))
                whole = account.storage_bytes(t for pair in self.waiting.values() for t in pair)
                self.ledger.note_peak(self._held() + int(share * whole))
                scores = self._shared(("replayed", b), lambda: self._replayed(b))
            else:
                scores = [self.scores[index][b] for index in indices]
            if self.method.budget.scope == "layer":
                chosen = [self._keep(b, [s], [i])[0] for s, i in zip(scores, indices)]
            else:
                chosen = self._keep(b, scores, indices)
            for index, kept_ks, score_ks in zip(indices, chosen, scores):
                kept[index].append(kept_ks)
                scored[index].append(score_ks)
        for index in indices:
            self._store(index, kept[index], scored[index])
        self.ledger.seconds["compression"] += time.perf_counter() - began

    def _replayed(self, b):
        """Scores of sequence ``b`` by reading it again over its own full cache."""
        if self.plan.entries[b] >= self.plan.lengths[b]:
            return [torch.zeros(k.shape[1], self.plan.lengths[b]) for k, _ in self.waiting.values()]
        first = self.length - self.plan.lengths[b]
        cache = DynamicCache()
        for index in sorted(self.waiting):
            key, value = self.waiting[index]
            cache.update(key[b : b + 1, :, first:], value[b : b + 1, :, first:], index)
        scores = self.score.replay(
            self.model, self.plan.tokens_bt[b, first:], cache, self.plan.rankings[b]
        )
        return [
            evict.checked(self.method, score, index)
            for index, score in zip(sorted(self.waiting), scores)
        ]

    def _held(self):
        """Bytes of keys, values and scores that exist now."""
        finished = (
            t for layer in self.layers.values() for t in account.layer_tensors(layer).values()
        )
        waiting = (t for pair in self.waiting.values() for t in pair)
        scores = (t for layer in self.scores.values() for t in layer)
        chunks = [] if self.chunks is None else (
            t for layer in self.chunks.layers for t in account.layer_tensors(layer).values()
        )
        return account.storage_bytes([*finished, *waiting, *scores, *chunks])

    def _require_all_layers(self):
        missing = [
            i for i in range(len(self.plan.windows)) if i not in self.layers | self.waiting
        ]
        if missing:
            raise NotImplementedError(
                f"layers {missing} did not call the attention function: they hold no "
                "softmax attention, or the model does not use transformers' registry"
            )
