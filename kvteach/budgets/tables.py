"""CompilerKV's tables: a weight for every head, a threshold for every layer and risk.

Compiled once a model by `kvteach compile compilerkv`. A file says which model they
belong to, from which text, bins and seed they were made.
"""

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

SHIPPED = (
    Path(__file__).parents[1] / "scores/weights/compilerkv-smollm2-135m-instruct.safetensors"
)
"""Tables of the bundled model.

:meta hide-value:
"""
_TENSORS = ("head_blk", "gate_blep", "entropy_edges", "perplexity_edges")


@dataclass(frozen=True, eq=False)
class Tables:
    """W[budget, layer, head] and tau[budget, layer, entropy bin, perplexity bin].

    head_blk: [B, L, K] float32. gate_blep: [B, L, E, P] float32. entropy_edges [E - 1]
    in nats and perplexity_edges [P - 1], ascending: bin i holds the values from edge
    i - 1 on, below edge i. budgets: the B shares of the prompt that were compiled.
    window: rows that alpha and the perplexity are taken over. about: model, text, seed.
    """

    head_blk: torch.Tensor
    gate_blep: torch.Tensor
    entropy_edges: torch.Tensor
    perplexity_edges: torch.Tensor
    budgets: tuple
    window: int = 64
    about: dict = field(default_factory=dict)

    def weights(self, share):
        """Head weights [L, K] of the compiled budget nearest to ``share``."""
        return self.head_blk[self._budget(share)]

    def thresholds(self, share, entropy, perplexity):
        """Thresholds [L] for a prompt of this entropy (nats) and perplexity."""
        bins = risk_bins(entropy, self.entropy_edges), risk_bins(
            perplexity, self.perplexity_edges
        )
        return self.gate_blep[self._budget(share), :, bins[0], bins[1]]

    def _budget(self, share):
        """Index of the nearest compiled budget, nearest as a ratio."""
        away = [abs(math.log(share / budget)) for budget in self.budgets]
        return away.index(min(away))

    def require(self, layers, kv_heads):
        """Raise ValueError unless the tables fit a model of that many layers and heads."""
        ours = tuple(self.head_blk.shape[1:])
        if ours != (layers, kv_heads):
            raise ValueError(
                f"tables: compiled for {self.about.get('model', 'another model')} with "
                f"{ours[0]} layers and {ours[1]} KV heads; this model has {layers} and "
                f"{kv_heads}. Ask for transferred({layers}, {kv_heads}) if that is meant"
            )

    def transferred(self, layers, kv_heads):
        """The same tables for a model of another size, by relative depth.

        Linear between the neighbours in relative layer and head index, ends on ends.
        """
        head_blk = _stretched(_stretched(self.head_blk, 1, layers), 2, kv_heads)
        about = {**self.about, "transferred": [layers, kv_heads]}
        gate_blep = _stretched(self.gate_blep, 1, layers)
        return replace(self, head_blk=head_blk, gate_blep=gate_blep, about=about)

    def write(self, path):
        """Write as safetensors; what is known about them goes into the metadata."""
        from safetensors.torch import save_file

        about = {"about": self.about, "budgets": self.budgets, "window": self.window}
        tensors = {name: getattr(self, name).contiguous() for name in _TENSORS}
        save_file(tensors, path, {"kvteach": json.dumps(about)})


def risk_bins(value, edges):
    """The bin that a value falls in: how many edges are at or below it."""
    value = torch.as_tensor(value, dtype=edges.dtype)
    return torch.searchsorted(edges, value, side="right")


def load(path=None, model=None):
    """`Tables` from a file; those of the bundled model by default.

    model: identity of the model they are for, as `kvteach.models.load` gives it, if it
    is to be checked. Raises ValueError for a file that holds no tables, and for tables
    of another model; `Tables.transferred` takes those that are meant to travel.
    """
    from safetensors import SafetensorError, safe_open

    path = SHIPPED if path is None else Path(path)
    try:
        with safe_open(path, "pt") as file:
            known = json.loads(file.metadata()["kvteach"])
            tensors = {name: file.get_tensor(name) for name in _TENSORS}
        tables = Tables(
            **tensors, budgets=tuple(known["budgets"]), window=known["window"],
            about=known["about"],
        )
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"path: {path} holds no tables ({error})") from error
    ours = tables.about.get("model")
    if model is not None and model != ours:
        raise ValueError(
            f"path: {path} was compiled for {ours}, not for {model}; compile tables for "
            "that model, or ask for a transfer by relative depth"
        )
    return tables


def _stretched(table, axis, size):
    """Linear interpolation along one axis to ``size`` entries, ends on ends."""
    given = table.shape[axis]
    if size < 1:
        raise ValueError(f"layers, kv_heads: {size}; need 1 or more")
    place = torch.linspace(0, given - 1, size, dtype=torch.float64)
    low = place.floor().long().clamp(0, given - 1)
    high = (low + 1).clamp(max=given - 1)
    shape = [1] * table.dim()
    shape[axis] = size
    part = (place - low).to(table.dtype).view(shape)
    return torch.lerp(table.index_select(axis, low), table.index_select(axis, high), part)
