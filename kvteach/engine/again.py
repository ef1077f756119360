"""Evicting again while decoding, so that a long answer holds no more than a short one."""

from dataclasses import dataclass

import torch

from kvteach.budgets.uniform import Uniform
from kvteach.caches import store
from kvteach.engine import evict
from kvteach.scores.layer import Layer


@dataclass(frozen=True)
class Again:
    """Every ``method.every`` tokens each layer is brought back to ``entries`` keys a head.

    Its kept keys and its tail are scored by the queries since the last eviction, which
    are held until then; the newest token stays in the tail. Positions stay true.
    """

    method: object
    entries: int
    depth: int  # compressed layers
    places: tuple  # layer index -> which of them it is, None for others

    def read(self, layer, module, query_bhtd, scaling, softcap):
        """The layer has attended to new tokens: remember their rows, evict when due."""
        rows = query_bhtd if layer.recent is None else torch.cat([layer.recent, query_bhtd], 2)
        spare = max(rows.shape[2] - evict.rows_read(self.method), 0)
        layer.recent = rows[:, :, spare:].clone()
        if layer.length > self.method.every:
            self._evict(layer, module, scaling, softcap)

    def _evict(self, layer, module, scaling, softcap):
        prefix = layer.prefix
        tail = slice(0, layer.length)
        keys = torch.cat([prefix.keys_bkmd, layer.keys[:, :, tail]], 2)
        values = torch.cat([prefix.values_bkmd, layer.values[:, :, tail]], 2)
        positions = torch.cat([prefix.entry_positions(), self._tail_positions(layer)], 2)
        paid = evict.charge(self.method, keys.shape[3]) if layer.rest is not None else 0
        if self.entries - paid >= keys.shape[2]:
            return
        index = module.layer_idx
        views = [
            Layer(
                index, layer.recent[b], keys[b], values[b], scaling, softcap=softcap,
                positions_ks=positions[b], module=module,
            )
            for b in range(len(keys))
        ]
        scores = [evict.checked(self.method, self.method.score(v), index) for v in views]
        kept = [
            evict.chosen(self.method, [score], [view.values_ksd], self.entries,
                         [self.places[index]], self.depth)[0]
            for view, score in zip(views, scores)
        ]
        before = layer.rest
        if before is not None:
            before = [before.select(torch.tensor([b])) for b in range(len(keys))]
        rest = evict.rest(self.method, views, kept, scores, before)
        old = torch.stack(kept)[:, :, :-1]
        replaced = store.build(
            "padded", keys[:, :, :-1], values[:, :, :-1], old, positions[:, :, :-1]
        )
        layer.start_again(replaced, rest)

    @staticmethod
    def _tail_positions(layer):
        batch, heads = layer.keys.shape[:2]
        at = torch.arange(layer.length, dtype=torch.int32, device=layer.keys.device)
        return (at + layer.prefix_seen).expand(batch, heads, -1)


def make(plan):
    """The `Again` of a plan whose method evicts repeatedly, else None."""
    if plan.method.every is None or plan.limit is None:
        return None
    full = [window is None for window in plan.windows]
    places = tuple(sum(full[:i]) if whole else None for i, whole in enumerate(full))
    return Again(plan.method, plan.limit, sum(full), places)


def require(method, kind, prompts):
    """Raise where a method cannot evict while decoding."""
    every = method.every
    if every is None:
        return
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(f"every: {every!r}; need None or a number of tokens >= 1")
    if prompts > 1:
        raise NotImplementedError(
            f"every: {prompts} prompts; sequences that evict while they decode are read one "
            "at a time (fork makes copies of one)"
        )
    for rule, what in ((method.score, "score"), (method.compensate, "compensation")):
        for need in ("second_pass", "hidden", "unrotates"):
            if getattr(rule, need, False):
                raise NotImplementedError(
                    f"every: {method.name} cannot evict while decoding: its {what} reads "
                    "more than the queries, keys and values that are left"
                )
    if method.compensate is not None and not getattr(method.compensate, "repeats", False):
        raise NotImplementedError(
            f"every: what stands for the evicted keys in {method.name} cannot take up more"
        )
    window = evict.rows_read(method)
    if window is None:
        raise NotImplementedError(
            f"every: {method.name} ranks by all rows, and they are gone while decoding"
        )
    if window > every:
        raise ValueError(
            f"every: {every} tokens, but {method.name} ranks by {window} rows; "
            f"need at least {window}"
        )
    if kind != "padded" or not isinstance(method.budget, Uniform):
        raise NotImplementedError(
            "every: evicting while decoding needs layers and heads that keep equally many "
            "keys, in a padded store"
        )
