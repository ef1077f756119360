"""FastKVzip: a small gate guesses from the hidden state what KVzip would say."""

import functools
import pickle
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

from kvteach.bundled import first_line
from kvteach.scores import fitted
from kvteach.scores.fitted import Fitted

SHAPES = {
    "q_proj.weight": 2,  # [K G d, E]
    "q_proj.bias": 1,
    "k_proj.weight": 2,  # [K d, E]
    "q_norm.weight": 1,  # [d]
    "k_norm.weight": 1,
    "k_base": 4,  # [K, 1, M, d]
    "b": 3,  # [K, 1, G]
}
"""A gate's tensors and their numbers of dimensions, named as in the published files."""


@dataclass(frozen=True)
class FastKVzip:
    """Probability that a gate gives to a key, against base keys for all the others.

        q_tkr = norm(W_q h_t + c),  k_tk = norm(W_k h_t)          in d dimensions
        score_kt = mean over r < G of 1 / (1 + sum_m exp(base_kmr - logit_kr))
        logit = q k / sqrt(d) + b,  base_m = q base key_m / sqrt(d)

    G is the group size R in the published gates; any number works. gates: None takes
    those fitted to the bundled model. The first ``sinks`` keys and the most recent ones
    must stay (+inf): the share ``recent`` of the sequence, at least one key, and
    ``recent_long`` keys from ``long`` tokens on.

    Cost: 2 S E K (G + 1) d FLOP, no second pass. Kim et al. 2026, arXiv 2601.17668.
    Deviation: what must stay is +inf where the paper's code sets 1. Raises ValueError
    for gates of a model with other sizes.
    """

    gates: Fitted | None = None
    sinks: int = 4
    recent: float = 0.02
    recent_long: int = 4096
    long: int = 32000

    window = 0
    hidden = True

    def __call__(self, layer):
        gates = self.gates or _shipped()
        dim = len(gates.layers[0]["q_norm.weight"])
        rows, size = gates.layers[0]["k_proj.weight"].shape
        weights = gates.of(layer, (size, rows // dim))
        score_ks = gate(weights, layer.hidden_td.float())
        recent = max(1, int(layer.length * self.recent))
        if layer.length >= self.long:
            recent = self.recent_long
        score_ks[:, : self.sinks] = torch.inf
        score_ks[:, -recent:] = torch.inf
        return score_ks


def gate(weights, hidden_te):
    """Scores [K, T] of one layer's gate, in the dtype of the hidden states."""
    query_tkrd = F.linear(hidden_te, weights["q_proj.weight"], weights["q_proj.bias"])
    key_tkd = F.linear(hidden_te, weights["k_proj.weight"])
    dim = len(weights["q_norm.weight"])
    kv_heads = key_tkd.shape[1] // dim
    query_tkrd = query_tkrd.view(len(hidden_te), kv_heads, -1, dim)
    key_tkd = key_tkd.view(len(hidden_te), kv_heads, dim)
    query_tkrd = F.rms_norm(query_tkrd, (dim,), weights["q_norm.weight"], 1e-6)
    key_tkd = F.rms_norm(key_tkd, (dim,), weights["k_norm.weight"], 1e-6)
    logit_tkr = torch.einsum("tkrd,tkd->tkr", query_tkrd, key_tkd) * dim**-0.5
    logit_tkr = logit_tkr + weights["b"][:, 0]
    base_tkrm = torch.einsum("tkrd,kmd->tkrm", query_tkrd, weights["k_base"][:, 0])
    rest_tkr = (base_tkrm * dim**-0.5).logsumexp(-1)
    return (logit_tkr - rest_tkr).sigmoid().mean(-1).T


def load(path):
    """Gates from a file, as `Fitted`: ours (.safetensors), or the published (.pt).

    The published file is a pickle with, under "module", a state dict a layer; only
    tensors and arrays are unpickled, never code. Raises ValueError for other content.
    """
    path = Path(path)
    gates = _published(path) if path.suffix == ".pt" else fitted.read(path)
    fitted.require(path, gates.layers, SHAPES)
    return gates


def _published(path):
    import numpy as np

    rebuild = np._core.multiarray._reconstruct
    names = ("numpy.core", "numpy._core")  # as numpy 1 and numpy 2 pickle it
    kinds = [(rebuild, f"{name}.multiarray._reconstruct") for name in names]
    kinds += [np.ndarray, np.dtype, np.dtypes.Float64DType, np.dtypes.Float32DType]
    wrong = (pickle.UnpicklingError, OSError, RuntimeError, LookupError, TypeError)
    try:
        with torch.serialization.safe_globals(kinds):
            held = torch.load(path, map_location="cpu", weights_only=True)
        layers = [dict(layer) for layer in held["module"]]
    except wrong as error:
        reason = first_line(error)
        raise ValueError(
            f"path: {path} is no published FastKVzip file ({reason})"
        ) from error
    return Fitted(layers, {"model": path.parent.name, "source": "Jang-Hyun/Fast-KVzip"})


@functools.lru_cache(maxsize=1)
def _shipped():
    return load(fitted.shipped("fastkvzip"))
