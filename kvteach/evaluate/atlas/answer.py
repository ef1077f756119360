"""Answer every attention row from s keys, cell by cell by a chosen rule.

The attention function is registered with transformers, so that any model whose
attention looks it up runs unchanged. Rows of at most s keys are answered whole.
"""

import contextlib
import contextvars

import torch

from kvteach.evaluate.atlas import loops
from kvteach.evaluate.atlas.batch import Batch

_NAME = "kvteach_answer"
_choice = contextvars.ContextVar("kvteach_answer_choice")


@contextlib.contextmanager
def answered(model, size, balanced):
    """Inside, ``model`` attends to ``size`` keys a row.

    balanced: [L, H] bool, cells whose set is balanced; the others keep the
    top-mass set. Cost per row: O(S D), and D (s + 12) times a few for a balanced
    one. The model is left as it was.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(_NAME, _attention)
    AttentionMaskInterface.register(_NAME, sdpa_mask)
    before = model.config._attn_implementation
    token = _choice.set((size, balanced))
    try:
        model.set_attn_implementation(_NAME)
        yield
    finally:
        _choice.reset(token)
        model.set_attn_implementation(before)


def _attention(module, query, key, value, attention_mask, scaling=None, **_):
    """Attention of one document, [1, T, H, D]."""
    size, balanced = _choice.get()
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    length, group = query.shape[2], query.shape[1] // key.shape[1]
    if attention_mask is None:
        steps = torch.arange(length)
        visible = steps <= steps[:, None]
    else:
        visible = attention_mask[0, 0].bool().cpu()
    q, k, v = (x[0].cpu().double() for x in (query, key, value))
    outputs = torch.empty(q.shape[0], length, v.shape[-1], dtype=torch.float64)
    for head in range(q.shape[0]):
        shared = head // group
        logits = (q[head] @ k[shared].T * scaling).masked_fill(~visible, -torch.inf)
        batch = Batch(logits.softmax(-1)[None], v[shared][None], visible[None])
        outputs[head] = answer(batch, size, bool(balanced[module.layer_idx, head]))
    return outputs.transpose(0, 1)[None].to(query.device, query.dtype), None


def answer(batch, size, balance):
    """Forced outputs [n, D] of one head's rows, from top-mass or balanced sets."""
    size = min(size, batch.p.shape[-1])
    kept = batch.p.topk(size).indices
    if balance and batch.p.shape[-1] > size:
        kept = _balanced(batch, kept)
    weights = batch.p.gather(-1, kept)[0]
    outputs = (weights[:, None] @ batch.v[0, kept[0]])[:, 0]
    return outputs / weights.sum(-1, keepdim=True)


def _balanced(batch, top):
    """Balanced sets [1, n, s] that start from the top-mass sets."""
    size = top.shape[-1]
    pool = batch.pool(size, top)
    gamma, weights = batch.deviations(pool)
    # A key that a row cannot see must never look like a good exchange.
    gamma.masked_fill_(~batch.visible.gather(-1, pool)[..., None], 1e6)
    gamma[..., :size, :] *= batch.visible.gather(-1, top)[..., None]
    places, _, _ = loops.balance(
        gamma[0].numpy(), (gamma @ gamma.mT)[0].numpy(), weights[0].numpy(), size
    )
    return pool.gather(-1, torch.from_numpy(places)[None])
