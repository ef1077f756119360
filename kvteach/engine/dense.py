"""Plain attention for prefill, and what a configuration says about each layer."""

import torch
from transformers.cache_utils import DynamicSlidingWindowLayer

from kvteach import attention
from kvteach.attention import soft_capped
from kvteach.caches import account

_ROWS = 256


def attend(module, query, key, value, mask, scaling, softcap=None):
    """transformers' SDPA attention, which it leaves to us where logits are capped.

    Shapes as `kvteach.attention.replaced` says. Returns the output [B, T, H, D].
    """
    if softcap is None:
        return attention.sdpa(module, query, key, value, mask, scaling)[0]
    outputs = [
        _tile(query, key, value, mask, scaling, softcap, first)
        for first in range(0, query.shape[2], _ROWS)
    ]
    return torch.cat(outputs, 1)


def _tile(query, key, value, mask, scaling, softcap, first):
    """Soft-capped attention of the rows from ``first`` on, [B, rows, H, D]."""
    total, length = query.shape[2], key.shape[2]
    kv_heads = key.shape[1]
    rows = query[:, :, first : first + _ROWS].float().unflatten(1, (kv_heads, -1))
    logits = soft_capped(rows @ key[:, :, None].float().transpose(3, 4) * scaling, softcap)
    if mask is None:
        position = length - total + first + torch.arange(rows.shape[3], device=query.device)
        seen = torch.arange(length, device=query.device) <= position[:, None]
    else:
        seen = mask[:, :, None, first : first + _ROWS]
    # A row of padding sees nothing: its output is 0, not NaN, as in SDPA.
    weights = logits.masked_fill(~seen, -torch.inf).softmax(-1).nan_to_num(0.0)
    output = (weights @ value[:, :, None].float()).flatten(1, 2)
    return output.transpose(1, 2).to(query.dtype)


def sliding_layer(keys_bksd, values_bksd, window, seen):
    """transformers' layer of a sliding window, after ``seen`` tokens; copies what it is given."""
    layer = DynamicSlidingWindowLayer(sliding_window=window)
    layer.update(keys_bksd.clone(), values_bksd.clone())
    layer.cumulative_length = seen
    return layer


def windows(config):
    """Sliding window of each layer, None for layers that see everything.

    Raises NotImplementedError for caches of another kind: latent attention, layers
    that share keys, layers without softmax attention.
    """
    config = account.text_config(config)
    layers, _, _ = account.shape(config)
    if getattr(config, "num_kv_shared_layers", 0):
        raise NotImplementedError("layers that share keys and values are not supported")
    kinds = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None)
    if getattr(config, "use_sliding_window", True) is False:
        window = None
    if kinds is None:
        return [window] * layers
    known = {"full_attention": None, "sliding_attention": window}
    for kind in kinds:
        if kind not in known:
            raise NotImplementedError(f"layers of kind {kind!r} are not supported")
    return [known[kind] for kind in kinds]
