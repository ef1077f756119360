"""KVzap: a linear map or a small network guesses the logarithm of KVzip+ scores."""

import functools
import json
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

from kvteach.scores import fitted
from kvteach.scores.fitted import Fitted

LINEAR = {"weight": 2, "bias": 1}
MLP = {"0.weight": 2, "0.bias": 1, "2.weight": 2, "2.bias": 1}
"""Tensors of either kind and their numbers of dimensions, named as published."""


@dataclass(frozen=True)
class KVzap:
    """Logarithm of the KVzip+ score, guessed from the hidden state of the key's token.

        score_kt = W h_t + b   or   W_2 gelu(W_1 h_t + b_1) + b_2

    network: None takes the one fitted to the bundled model, of the kind named
    ``shipped``, "mlp" or "linear". The ``recent`` last keys must stay (+inf), as
    where the paper evicts below a threshold; it protects no sinks.

    Cost: 2 S E K FLOP, or 2 S E times the width; no second pass. KVzap,
    arXiv 2601.07891, and kvpress 0.5.5. Raises ValueError for a network of
    another model's sizes.
    """

    network: Fitted | None = None
    shipped: str = "mlp"
    recent: int = 128

    window = 0
    hidden = True

    def __post_init__(self):
        if self.shipped not in ("mlp", "linear"):
            raise ValueError(f"shipped: {self.shipped!r}; need 'mlp' or 'linear'")
        if self.recent < 0:
            raise ValueError(f"recent: {self.recent}; need at least 0 keys")

    def __call__(self, layer):
        network = self.network or _shipped(self.shipped)
        weights = network.of(layer, sizes(network.layers[0]))
        score_ks = surrogate(weights, layer.hidden_td.float()).T.contiguous()
        if self.recent:
            score_ks[:, -self.recent :] = torch.inf
        return score_ks


def sizes(weights):
    """Hidden size and KV heads of one layer's network."""
    linear = "weight" in weights
    first, last = ("weight", "weight") if linear else ("0.weight", "2.weight")
    return weights[first].shape[1], weights[last].shape[0]


def surrogate(weights, hidden_te):
    """What one layer's network says, [T, K], in the dtype of the hidden states."""
    if "weight" in weights:
        return F.linear(hidden_te, weights["weight"], weights["bias"])
    inner_te = F.gelu(F.linear(hidden_te, weights["0.weight"], weights["0.bias"]))
    return F.linear(inner_te, weights["2.weight"], weights["2.bias"])


def load(path):
    """A network from a safetensors file, or from a published folder, as `Fitted`.

    A published folder holds config.json and model.safetensors. Raises ValueError for
    other content.
    """
    path = Path(path)
    about = {}
    if path.is_dir():
        try:
            about = json.loads((path / "config.json").read_text())
        except (OSError, ValueError) as error:
            raise ValueError(
                f"path: {path} is no published folder ({error})"
            ) from error
        path = path / "model.safetensors"
    network = fitted.read(path)
    fitted.require(
        path, network.layers, LINEAR if "weight" in network.layers[0] else MLP
    )
    return Fitted(network.layers, network.about or about)


@functools.lru_cache(maxsize=2)
def _shipped(kind):
    return load(fitted.shipped(f"kvzap-{kind}"))
