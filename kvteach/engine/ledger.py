"""What a compression held and took: bytes by storage, seconds by the clock."""

from dataclasses import dataclass, field

from kvteach.caches import account


@dataclass
class Ledger:
    """Bytes of keys, values and their bookkeeping, at three times.

    ``prefill_peak``: the most that existed at once while the prompt was read, finished
    and unfinished layers, scores, and transformers' cache where the prompt comes in chunks;
    not the activations of the model. ``compressed``: just after the eviction.
    ``nominal``: what the budget promises, 2 D itemsize bytes for every key of every
    compressed layer; ``full``: the same with every key of the prompt. All but the last
    two are counted from storage. What is held while decoding is `Compressed.held_bytes`.
    """

    prefill_peak: int = 0
    compressed: int = 0
    parts: dict = field(default_factory=dict)  # the compressed bytes by kind of tensor
    nominal: int = 0
    full: int = 0
    kept: list = field(default_factory=list)  # layer -> kept keys [B, K], without the last
    seconds: dict = field(default_factory=lambda: {"prefill": 0.0, "compression": 0.0})

    @property
    def overhead(self):
        """Bytes held over bytes promised."""
        return self.compressed / self.nominal

    def note_peak(self, held):
        """Remember the most bytes seen."""
        self.prefill_peak = max(self.prefill_peak, held)

    def note_compressed(self, layers, plan, model):
        """Count what the finished layers hold."""
        compressed = [layer for layer in layers if hasattr(layer, "prefix")]
        self.compressed = account.storage_bytes(
            t for layer in compressed for t in layer.tensors().values()
        )
        for layer in compressed:
            for name, tensor in layer.tensors().items():
                held = account.storage_bytes([tensor])
                self.parts[name] = self.parts.get(name, 0) + held
        self.kept = [layer.prefix.counts().cpu() for layer in compressed]
        _, kv_heads, dim = account.shape(model.config)
        itemsize = model.dtype.itemsize
        entry = 2 * dim * itemsize * kv_heads * len(compressed)
        self.nominal = entry * sum(plan.entries)
        self.full = entry * sum(plan.lengths)
        self.note_peak(account.storage_bytes(
            t for layer in layers for t in account.layer_tensors(layer).values()
        ))
