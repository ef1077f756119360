"""`compress`: one prefill, one eviction, and a session that goes on from there."""

from kvteach.engine import plan as plans
from kvteach.engine.plan import Bytes
from kvteach.engine.prefill import Prefill
from kvteach.engine.session import Compressed

__all__ = ["Bytes", "compress"]


def compress(
    model,
    tokens,
    method,
    budget=None,
    *,
    question=None,
    condition="visible",
    attention_mask=None,
    store=None,
    chunk=None,
):
    """Read a prompt, evict what ``method`` does not keep, return a `Compressed`.

    model: a transformers causal language model; it is left as it was, also when an
    exception passes through. tokens: [T] or [B, T] ids, padding on the left and
    marked 0 in ``attention_mask`` [B, T]. method: a name in `kvteach.methods`, or a
    `kvteach.methods.Method`. budget: a float in (0, 1] is the share of each prompt's
    keys that stays, an int the keys per KV head (mean over heads and layers), and
    `Bytes` the bytes of all compressed layers.

    question: ids [Tq] or [B, Tq] after the prompt. condition says what it may do:
    "visible", it is read before the eviction and ranks keys; "document", it is read
    before the eviction, but only document rows rank; "after", the eviction comes
    first. store: one of `kvteach.caches.store.KINDS` instead of the method's own. chunk:
    tokens read at a time, all by default.

    A method with ``every`` evicts again while it decodes: after so many new tokens its
    layers are brought back to the budget. That is for one prompt at a time.

    The last token before the eviction is never evicted: it is held out and read over
    the compressed cache, so every logit comes from what was kept. Layers with a
    sliding window keep their window and are not compressed.

    Cost: one forward pass without the vocabulary projection, plus the method's
    scores. Methods that decide layer by layer hold one uncompressed layer at a time,
    the others, and prompts in chunks, all of them. Raises ValueError for arguments out of their legal
    range, and NotImplementedError naming what a model has that is not supported.
    """
    plan = plans.make(
        model, tokens, method, budget, question, condition, attention_mask, store
    )
    if chunk is not None and (isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1):
        raise ValueError(f"chunk: {chunk!r}; need a number of tokens >= 1")
    layers, ledger = Prefill(model, plan).run(chunk)
    return Compressed.start(model, layers, plan, ledger)
