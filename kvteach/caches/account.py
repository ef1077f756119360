"""Bytes of a key-value cache: what a configuration implies, what tensors occupy."""

from numbers import Integral

import torch


def bytes_per_token(config, itemsize=2):
    """Bytes that one token of one sequence adds in all layers: 2 L K D itemsize.

    config: a transformers configuration, or anything with its attribute names.
    itemsize: bytes of one element (2 for bfloat16). Raises NotImplementedError
    for latent attention, which stores no keys and values per head.
    """
    _require_counts(itemsize=itemsize)
    layers, kv_heads, head_dim = shape(config)
    return 2 * layers * kv_heads * head_dim * itemsize


def cache_bytes(config, tokens, batch=1, itemsize=2):
    """Bytes of the keys and values of ``batch`` sequences of ``tokens`` tokens.

    Sliding-window layers hold at most their window. Raises ValueError for
    numbers that are no counts.
    """
    _require_counts(tokens=tokens, batch=batch, itemsize=itemsize)
    config = text_config(config)
    layers, kv_heads, head_dim = shape(config)
    window = getattr(config, "sliding_window", None)
    if not window or getattr(config, "use_sliding_window", True) is False:
        window = tokens
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * layers
    held = sum(min(tokens, window) if "sliding" in kind else tokens for kind in kinds)
    return 2 * held * kv_heads * head_dim * batch * itemsize


def shape(config):
    """(L, K, D) of a configuration, with the defaults that transformers fills in."""
    config = text_config(config)
    if getattr(config, "kv_lora_rank", None):
        raise NotImplementedError("latent attention stores no keys and values per head")
    heads = getattr(config, "num_attention_heads", None)
    if not heads:
        raise NotImplementedError(f"{type(config).__name__} describes no attention heads")
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    return config.num_hidden_layers, kv_heads, head_dim


def text_config(config):
    """The language model's part of a configuration that also describes images."""
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _require_counts(**counts):
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
            raise ValueError(f"{name}: {count!r}; need a whole number >= 0")


def held_bytes(cache):
    """Bytes that a transformers cache really occupies, compressed or not.

    Counts the whole storage behind every tensor of every layer, once each: a view
    of a larger buffer holds the buffer.
    """
    return storage_bytes(t for layer in cache.layers for t in layer_tensors(layer).values())


def layer_tensors(layer):
    """The tensors of one cache layer by name: its own list, or its keys and values."""
    if hasattr(layer, "tensors"):
        return layer.tensors()
    held = {"keys": layer.keys, "values": layer.values}
    return {name: t for name, t in held.items() if isinstance(t, torch.Tensor)}


def storage_bytes(tensors):
    """Bytes of the storages behind ``tensors``, each storage once."""
    storages = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())
