"""A compressed session on disk: safetensors, with what belongs to it as metadata."""

import hashlib
import json
from dataclasses import asdict

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from transformers import Cache
from transformers.cache_utils import DynamicSlidingWindowLayer

from kvteach.caches import account
from kvteach.caches.layer import CompressedLayer
from kvteach.caches.store import Dense, Ragged
from kvteach.engine import dense
from kvteach.engine.ledger import Ledger

_FORMAT = "kvteach.compressed.1"


def write(path, session):
    """Write tokens, mask and every layer of ``session`` to ``path``."""
    tensors = {"tokens": session.tokens_bt, "mask": session.mask_bt}
    if session.last is not None:
        tensors["last"] = session.last
    kinds = []
    for index, layer in enumerate(session.cache.layers):
        kinds.append(_kind(layer))
        for name, tensor in account.layer_tensors(layer).items():
            tensors[f"{index}.{name}"] = tensor
    described = {
        "format": _FORMAT,
        "model": session.model.name_or_path,
        "weights": _fingerprint(session.model),
        "method": session.method,
        "ledger": {**asdict(session.ledger), "kept": [k.tolist() for k in session.ledger.kept]},
        "layers": kinds,
    }
    if not path.parent.is_dir():
        raise ValueError(f"path: there is no folder {path.parent}")
    save_file({k: t.contiguous().clone() for k, t in tensors.items()}, path,
              {"kvteach": json.dumps(described)})


def read(path, model, session_class):
    """The session in ``path`` on ``model``; ValueError where they do not belong together."""
    try:
        with safe_open(path, "pt", device=str(model.device)) as file:
            described = json.loads((file.metadata() or {}).get("kvteach", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"path: {path} cannot be read as a compressed cache ({error})") from None
    if described.get("format") != _FORMAT:
        raise ValueError(f"path: {path} holds no compressed cache of this version")
    if described["weights"] != _fingerprint(model):
        raise ValueError(
            f"path: {path} belongs to other weights ({described['model'] or 'unnamed'}), or "
            f"to another dtype, than this model ({model.name_or_path or 'unnamed'})"
        )
    layers = [
        _layer(kind, {name.split(".", 1)[1]: t for name, t in tensors.items()
                      if name.startswith(f"{index}.")})
        for index, kind in enumerate(described["layers"])
    ]
    ledger = Ledger(**described["ledger"])
    ledger.kept = [torch.tensor(kept) for kept in ledger.kept]
    return session_class(model, Cache(layers=layers), tensors["tokens"], tensors["mask"],
                         described["method"], ledger, tensors.get("last"))


def _fingerprint(model):
    """SHA-256 over dtype, names, shapes and the first numbers of all weights."""
    digest = hashlib.sha256(str(model.dtype).encode())
    for name, weight in model.named_parameters():
        first = weight.detach().flatten()[:8].float().cpu().numpy()
        digest.update(f"{name} {list(weight.shape)}".encode() + first.tobytes())
    return digest.hexdigest()


def _kind(layer):
    """What a layer needs beside its tensors."""
    if isinstance(layer, DynamicSlidingWindowLayer):
        return {"window": layer.sliding_window, "seen": layer.cumulative_length}
    return {"seen": layer.prefix_seen, "length": layer.length,
            "segments": getattr(layer.prefix, "segments", None)}


def _layer(kind, tensors):
    if "window" in kind:
        return dense.sliding_layer(
            tensors["keys"], tensors["values"], kind["window"], kind["seen"]
        )
    if kind["segments"] is None:
        prefix = Dense(tensors["keys"], tensors["values"], tensors.get("positions"),
                       tensors.get("mask"))
    else:
        segments = tuple(tuple(map(tuple, row)) for row in kind["segments"])
        prefix = Ragged(tensors["keys"], tensors["values"], tensors["positions"],
                        tensors["starts"], tensors["counts"], segments)
    layer = CompressedLayer(prefix, kind["seen"])
    layer.length = kind["length"]
    layer.keys, layer.values = tensors.get("tail keys"), tensors.get("tail values")
    return layer
