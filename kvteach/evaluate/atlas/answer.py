"""Answer every attention row from s keys, cell by cell by a chosen rule.

Rows of at most s keys are answered whole.
"""

import torch

from kvteach import attention
from kvteach.evaluate.atlas import loops
from kvteach.evaluate.atlas.batch import Batch


def answered(model, size, balanced):
    """A context in which ``model`` attends to ``size`` keys a row.

    balanced: [L, H] bool, cells whose set is balanced; the others keep the
    top-mass set. Cost per row: O(S D), and D (s + 12) times a few for a balanced
    one. See `kvteach.attention.replaced`.
    """

    def attend(module, query, key, value, mask, scaling, **_):
        """Attention of one document, [1, T, H, D]."""
        length, group = query.shape[2], query.shape[1] // key.shape[1]
        visible = attention.visible_keys(mask, torch.arange(length), length).cpu()
        q, k, v = (x[0].cpu().double() for x in (query, key, value))
        outputs = torch.empty(q.shape[0], length, v.shape[-1], dtype=torch.float64)
        for head in range(q.shape[0]):
            shared = head // group
            logits = (q[head] @ k[shared].T * scaling).masked_fill(~visible, -torch.inf)
            batch = Batch(logits.softmax(-1)[None], v[shared][None], visible[None])
            outputs[head] = answer(batch, size, bool(balanced[module.layer_idx, head]))
        return outputs.transpose(0, 1)[None].to(query.device, query.dtype), None

    return attention.replaced(model, attend)


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
