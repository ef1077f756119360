"""Tiny random models of every supported kind, and the reference they are held to."""

import functools

import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    LlamaConfig,
    MistralConfig,
    Olmo2Config,
    Qwen2Config,
    Qwen3Config,
)

from kvteach import attention

SHAPE = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 40,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
CONFIGS = {
    "llama": LlamaConfig(**SHAPE),  # no head_dim given: 48 / 6
    "qwen2": Qwen2Config(**SHAPE),
    "qwen3": Qwen3Config(**SHAPE, head_dim=12),
    "mistral": MistralConfig(**SHAPE, sliding_window=None),
    "olmo2": Olmo2Config(**SHAPE),
    "gemma2": Gemma2Config(**SHAPE, head_dim=12, sliding_window=16),
    "gemma3": Gemma3TextConfig(**SHAPE, head_dim=12, sliding_window=16, sliding_window_pattern=2),
}


@functools.cache
def tiny(name, dtype=torch.float32):
    """A random model whose attention is sharp enough that evictions matter."""
    torch.manual_seed(sum(map(ord, name)))
    model = AutoModelForCausalLM.from_config(CONFIGS[name], dtype=dtype).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(4)
    model.generation_config.eos_token_id = None  # never stop early
    return model


def prompt(length, seed=0, batch=None):
    """Random ids without the special ones."""
    shape = (length,) if batch is None else (batch, length)
    return torch.randint(3, 97, shape, generator=torch.Generator().manual_seed(seed))


def kept_sets(session, sequence=0):
    """{layer: [positions kept by each KV head]} of a session, the held-out token left out."""
    return {
        index: [layer.prefix.positions(sequence, head)
                for head in range(layer.prefix.counts().shape[1])]
        for index, layer in enumerate(session.cache.layers)
        if hasattr(layer, "prefix")
    }


def rests_of(session):
    """{layer: what stands for its evicted keys}, for one sequence."""
    return {
        index: layer.rest for index, layer in enumerate(session.cache.layers)
        if getattr(layer, "rest", None) is not None
    }


def with_slots(rest, logits, values, query, cut, shared):
    """Logits and values with the slots' columns, which rows from ``cut`` on see."""
    keys, theirs, bias = (
        tensor[0].double().repeat_interleave(shared, 0)
        for tensor in (rest.keys_bkmd, rest.values_bkmd, rest.bias_bkm)
    )
    more = query @ keys.mT + bias[:, None]
    more[:, :cut] = -torch.inf
    return torch.cat([logits, more], 2), torch.cat([values, theirs], 1)


def of_memory(rest, query, cut, shared):
    """g(q) m(q) of rows from ``cut`` on, with M = Phi C written out, [H, T, D]."""
    w = {name: tensor.double().repeat_interleave(shared, 0)
         for name, tensor in rest.learned.items()}
    state = {name: tensor[0].double().repeat_interleave(shared, 0)
             for name, tensor in rest.tensors().items()}
    seen = query @ w["phi"].mT
    whole = w["phi"] @ state["moments"]  # d_mem x D
    norm = (seen.square() @ state["norms"].square()[..., None] + 1e-8).sqrt()
    inner = torch.nn.functional.gelu(query @ w["gate.0.weight"].mT + w["gate.0.bias"][:, None])
    logit = inner @ w["gate.2.weight"][..., None] + w["gate.2.bias"][:, None, None]
    if "share" in state:
        odds = state["share"].clamp(1e-12, 1 - 1e-12).logit()
        logit = logit + (w["gate.share"] * odds)[:, None, None]
    answer = logit.sigmoid() * (seen @ whole) / norm
    answer[:, :cut] = 0
    return answer


def masked_dense_logits(model, tokens, cut, kept, rests=None):
    """Logits of ``tokens`` [T] in one pass, rows from ``cut`` on seeing kept keys only.

    kept: {layer: [positions per KV head]} among the first ``cut``; what comes from
    ``cut`` on is seen by every later row. Explicit softmax over T x T masks, keys
    repeated for their query heads: nothing here is shared with the engine.
    """
    length = len(tokens)
    causal = torch.ones(length, length, dtype=torch.bool).tril()

    def attend(module, query, key, value, mask, scaling, softcap=None, sliding_window=None, **_):
        heads, kv_heads = query.shape[1], key.shape[1]
        seen = causal.repeat(heads, 1, 1)
        if sliding_window is not None:
            near = torch.arange(length)[:, None] - torch.arange(length) < sliding_window
            seen = seen & near
        elif module.layer_idx in kept:
            for head in range(heads):
                stays = torch.zeros(length, dtype=torch.bool)
                stays[kept[module.layer_idx][head // (heads // kv_heads)]] = True
                stays[cut:] = True
                seen[head, cut:] &= stays
        keys = key[0].repeat_interleave(heads // kv_heads, 0).double()
        values = value[0].repeat_interleave(heads // kv_heads, 0).double()
        logits = query[0].double() @ keys.mT * scaling
        if softcap is not None:
            logits = softcap * torch.tanh(logits / softcap)
        logits = logits.masked_fill(~seen, -torch.inf)
        rest = (rests or {}).get(module.layer_idx)
        scaled, shared = query[0].double() * scaling, heads // kv_heads
        if hasattr(rest, "bias_bkm"):
            logits, values = with_slots(rest, logits, values, scaled, cut, shared)
        out = logits.softmax(-1) @ values
        if hasattr(rest, "moments_bkdd"):
            out = out + of_memory(rest, scaled, cut, shared)
        return out.transpose(0, 1)[None].to(query.dtype), None

    with attention.replaced(model, attend, capped=True), torch.no_grad():
        return model(tokens[None], use_cache=False).logits[0]
