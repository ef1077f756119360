"""CompilerKV in the engine, against the model's own attention and plain mathematics."""

import math

import pytest
import torch
from engine_models import kept_sets, prompt, tiny
from transformers import DynamicCache

from kvteach import engine, methods, models
from kvteach.budgets.risk_gate import RiskGate
from kvteach.budgets.tables import Tables
from kvteach.scores.stabilised import Stabilised

WINDOW, LENGTH, LAYERS, KV_HEADS = 8, 60, 4, 2


def what_the_model_says(model, tokens):
    """alpha [T], values [L, K, T, D] and perplexity, from transformers' eager attention."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    cache = DynamicCache()
    try:
        with torch.no_grad():
            read = model(
                tokens[None], output_attentions=True, **{models.cache_argument(model): cache}
            )
    finally:
        model.set_attn_implementation(before)
    rows = torch.stack([a[0, :, -WINDOW:] for a in read.attentions]).double()
    values = torch.stack([layer.values[0] for layer in cache.layers]).double()
    chosen = read.logits[0, -WINDOW - 1 : -1].double().log_softmax(-1)
    nats = -chosen.gather(1, tokens[-WINDOW:, None])[:, 0]
    return rows.mean((0, 1, 2)) * len(tokens), values, math.exp(nats.mean())


def random_tables(generator, alpha, perplexity, bins=True):
    """Weights and thresholds that matter, with one edge above, one below the prompt."""
    entropy = -(alpha / LENGTH * (alpha / LENGTH).log()).sum()
    heads = 0.8 + 0.7 * torch.rand(2, LAYERS, KV_HEADS, generator=generator)
    gate = 0.5 + torch.rand(2, LAYERS, 2, 2, generator=generator)
    edges = torch.stack([entropy - 0.1]), torch.tensor([perplexity * 1.1])
    return Tables(heads, gate, *edges, (0.5, 0.2), WINDOW)


@pytest.mark.parametrize("name", ["llama", "qwen3"])
@pytest.mark.parametrize("count, budget", [(30, 0), (12, 1)])
def test_kept_sets_are_those_of_the_definition(generator, name, count, budget):
    model, tokens = tiny(name), prompt(LENGTH)
    alpha, values, perplexity = what_the_model_says(model, tokens)
    tables = random_tables(generator, alpha, perplexity)
    method = methods.Method("c", Stabilised(WINDOW), RiskGate(tables), "padded")
    kept = kept_sets(engine.compress(model, tokens, method, count))
    sizes = set()
    for layer in range(LAYERS):
        norm = values[layer].norm(dim=-1)
        utility = alpha * norm / norm.mean(-1, keepdim=True)
        best = (utility * tables.head_blk[budget, layer, :, None]).amax(0)[:-1]
        threshold = tables.gate_blep[budget, layer, 1, 0]  # above one edge, below the other
        wanted = [i for i in range(LENGTH - 1) if best[i] >= threshold]
        wanted = sorted(sorted(wanted, key=lambda i: -best[i])[: count - 1])
        for head in kept[layer]:
            assert head.tolist() == wanted
        sizes.add(len(wanted))
    assert (len(sizes) > 1) == (count == 30)  # under the larger budget thresholds decide


def test_a_batch_a_chunk_and_a_reading_keep_the_same(generator):
    model, tokens = tiny("llama"), prompt(LENGTH)
    alpha, _, perplexity = what_the_model_says(model, tokens)
    method = methods.Method(
        "c", Stabilised(WINDOW), RiskGate(random_tables(generator, alpha, perplexity)),
        "padded",
    )

    def sets(session, sequence=0):
        return [[h.tolist() for h in heads] for heads in kept_sets(session, sequence).values()]

    alone = sets(engine.compress(model, tokens, method, 20))
    both = engine.compress(model, torch.stack([prompt(LENGTH, 7), tokens]), method, 20)
    assert sets(both, 1) == alone
    assert sets(engine.compress(model, tokens, method, 20, chunk=13)) == alone
    assert sets(engine.Reading(model, tokens).compress(method, 20)) == alone
    assert sets(engine.compress(model, tokens, method, 20, store="ragged")) == alone
