"""A compressed session on disk: safetensors, with what belongs to it as metadata."""

import hashlib
import json
from dataclasses import asdict, fields

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from transformers import Cache
from transformers.cache_utils import DynamicSlidingWindowLayer

from kvteach import methods
from kvteach.caches.layer import CompressedLayer
from kvteach.caches.paged import Paged
from kvteach.caches.store import Dense, Ragged
from kvteach.compensate.latent_memory import Memory
from kvteach.compensate.tail_slot import Slots
from kvteach.engine import dense
from kvteach.engine.again import Again
from kvteach.engine.ledger import Ledger

_PARTS = {part.__name__: part for part in (Dense, Ragged, Paged, Slots, Memory)}
"""What a compressed layer is made of: dataclasses of tensors and plain values."""

_FORMAT = "kvteach.compressed.2"


def write(path, session):
    """Write tokens, mask and every layer of ``session`` to ``path``."""
    tensors = {"tokens": session.tokens_bt, "mask": session.mask_bt}
    if session.last is not None:
        tensors["last"] = session.last
    kinds = []
    for index, layer in enumerate(session.cache.layers):
        kind, owned = _apart(layer)
        kinds.append(kind)
        tensors |= {f"{index}.{name}": tensor for name, tensor in owned.items()}
    described = {
        "format": _FORMAT,
        "model": session.model.name_or_path,
        "weights": _fingerprint(session.model),
        "method": session.method,
        "again": _again(session.again),
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
                         described["method"], ledger, tensors.get("last"),
                         _again_from(described["again"]))


def _fingerprint(model):
    """SHA-256 over dtype, names, shapes and the first numbers of all weights."""
    digest = hashlib.sha256(str(model.dtype).encode())
    for name, weight in model.named_parameters():
        first = weight.detach().flatten()[:8].float().cpu().numpy()
        digest.update(f"{name} {list(weight.shape)}".encode() + first.tobytes())
    return digest.hexdigest()


# --- layers -----------------------------------------------------------------------


def _apart(layer):
    """What a layer is in plain values, and its tensors by name."""
    if isinstance(layer, DynamicSlidingWindowLayer):
        kind = {"window": layer.sliding_window, "seen": layer.cumulative_length}
        return kind, {"keys": layer.keys, "values": layer.values}
    kind = {"seen": layer.prefix_seen, "length": layer.length}
    owned = {"tail.keys": layer.keys, "tail.values": layer.values, "recent": layer.recent}
    for name in ("prefix", "rest"):
        part = getattr(layer, name)
        if part is None:
            continue
        kind[name] = plain = {"is": type(part).__name__}
        for field in fields(part):
            value = getattr(part, field.name)
            if isinstance(value, dict):  # learned tensors by name
                owned |= {f"{name}.{field.name}.{key}": t for key, t in value.items()}
            elif isinstance(value, torch.Tensor):
                owned[f"{name}.{field.name}"] = value
            elif field.init and value is not None:
                plain[field.name] = value
    return kind, {name: tensor for name, tensor in owned.items() if tensor is not None}


def _layer(kind, tensors):
    """The layer that `_apart` took apart."""
    if "window" in kind:
        return dense.sliding_layer(
            tensors["keys"], tensors["values"], kind["window"], kind["seen"]
        )
    parts = [_part(name, kind[name], tensors) if name in kind else None
             for name in ("prefix", "rest")]
    layer = CompressedLayer(parts[0], kind["seen"], parts[1])
    layer.length = kind["length"]
    layer.keys, layer.values = tensors.get("tail.keys"), tensors.get("tail.values")
    layer.recent = tensors.get("recent")
    return layer


def _part(name, plain, tensors):
    made, values = _PARTS[plain["is"]], {}
    for field in fields(made):
        own, inner = f"{name}.{field.name}", f"{name}.{field.name}."
        if own in tensors:
            values[field.name] = tensors[own]
        elif field.name in plain:
            values[field.name] = _tuples(plain[field.name])
        elif named := {n[len(inner):]: t for n, t in tensors.items() if n.startswith(inner)}:
            values[field.name] = named
        elif field.init:
            values[field.name] = None
    return made(**values)


def _tuples(value):
    """JSON's lists as tuples, all the way down."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# --- eviction that goes on ----------------------------------------------------------


def _again(again):
    """What brings back an `Again`: its method by name, which must say it all."""
    if again is None:
        return None
    name = again.method.name
    try:
        same = methods.get(name) == again.method
    except (ValueError, RuntimeError):  # no such name; tensors that do not compare
        same = False
    if not same:
        raise ValueError(
            f"method: {name!r} does not name what evicts while this session decodes; a "
            "session is saved whose method is given as text, such as 'tova:every=1'"
        )
    return {"method": name, "entries": again.entries, "depth": again.depth,
            "places": again.places}


def _again_from(described):
    if described is None:
        return None
    return Again(methods.get(described["method"]), described["entries"], described["depth"],
                 tuple(described["places"]))
