"""Another attention function inside a transformers model, for a while.

The function is registered with transformers (its public registries), so any model
whose attention looks there runs unchanged. One name is registered once; what it
calls is chosen by `replaced`.
"""

import contextlib
import contextvars
import threading
import weakref

import torch

_NAME = "kvteach"
_UNSUPPORTED = {
    "softcap": "soft-capped logits",
    "s_aux": "a learned sink logit",
    "position_bias": "a position bias",
}
_attend = contextvars.ContextVar("kvteach_attend", default=None)
_locks = weakref.WeakKeyDictionary()  # model -> lock: one thread at a time replaces
_guard = threading.Lock()


@contextlib.contextmanager
def replaced(model, attend, capped=False):
    """Inside, every attention layer of ``model`` calls ``attend``.

    attend(module, query, key, value, attention_mask, scaling, **others) returns
    (output [B, T, H, D], weights or None), like transformers' own functions; query
    is [B, H, T, D], key and value are [B, K, S, D] after rotary embedding. Masks
    are those of SDPA: None for plainly causal, else boolean [B, 1, T, S]. The model
    is left as it was, also when an exception passes through. Another thread that wants
    to replace attention in the same model waits; one that just calls the model gets
    its SDPA attention. capped: whether ``attend``
    takes an argument ``softcap`` and honours it.

    Raises NotImplementedError naming what a layer does that plain softmax
    attention does not (soft-capping, learned sinks, position biases).
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(_NAME, _dispatch)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    with _guard:
        lock = _locks.setdefault(model, threading.RLock())
    with lock:
        before = model.config._attn_implementation
        token = _attend.set((attend, capped))
        try:
            model.set_attn_implementation(_NAME)
            yield
        finally:
            _attend.reset(token)
            model.set_attn_implementation(before)


def _dispatch(module, query, key, value, attention_mask, scaling=None, **others):
    if _attend.get() is None:  # another thread's ordinary use of the model
        return sdpa(module, query, key, value, attention_mask, scaling, **others)
    attend, capped = _attend.get()
    for argument, what in _UNSUPPORTED.items():
        if others.get(argument) is not None and not (capped and argument == "softcap"):
            raise NotImplementedError(f"layer {module.layer_idx} uses {what}: not supported")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    return attend(module, query, key, value, attention_mask, scaling, **others)


def sdpa(module, query, key, value, attention_mask, scaling, **others):
    """transformers' own SDPA attention, for an ``attend`` that only looks on."""
    from transformers import AttentionInterface

    attend = AttentionInterface()["sdpa"]
    return attend(module, query, key, value, attention_mask, scaling=scaling, **others)


def soft_capped(logits, softcap):
    """softcap * tanh(logits / softcap), or the logits where there is no cap."""
    return logits if softcap is None else softcap * torch.tanh(logits / softcap)


def visible_keys(attention_mask, positions, length):
    """Which of ``length`` keys the queries of one document may see, [n, S] bool.

    attention_mask: as `replaced` hands it over; positions: [n] indices of queries.
    """
    if attention_mask is None:
        return torch.arange(length, device=positions.device) <= positions[:, None]
    return attention_mask[0, 0, positions, :length].bool()
