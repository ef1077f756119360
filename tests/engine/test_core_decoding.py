"""CORE on the bundled model: a long answer stays in its bytes and stays finite."""

import pytest
import torch

from kvteach import corpora, engine, models

PROMPT, ENTRIES, NEW = 300, 110, 256


@pytest.fixture(scope="module")
def text(bundled):
    return corpora.documents("english")[120].tokens(bundled.tokenizer, PROMPT + NEW)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_256_tokens_with_repeated_eviction(text, dtype):
    model = models.load(dtype=dtype).model
    session = engine.compress(model, text[:PROMPT], "core", ENTRIES)
    layers = session.cache.layers
    moments = [layer.rest.moments_bkdd for layer in layers]
    held, finite = [], True
    for first in range(PROMPT, PROMPT + NEW, 8):
        finite &= bool(torch.isfinite(session.logits(text[first : first + 8])).all())
        held.append(session.held_bytes())
        assert all(layer.length <= 128 for layer in layers)
    assert finite
    # Two evictions, after 128 tokens and after 256. For every layer and KV head: the budget,
    # memory included, with 4 bytes a position; a tail of 128 tokens, the held-out one and
    # at most 8 that are read at once, with a quarter of slack; the queries of 128 rows.
    config, size = model.config, dtype.itemsize
    dim, shared = config.head_dim, config.num_attention_heads // config.num_key_value_heads
    entry = 2 * dim * size
    each = ENTRIES * (entry + 4) + 137 * 5 // 4 * entry + 128 * shared * dim * size
    assert max(held) <= config.num_hidden_layers * config.num_key_value_heads * each
    for layer, before in zip(layers, moments):
        kept = layer.prefix.keys_bkmd.shape[2]
        # The memory's charge and the held-out token are taken out of the budget.
        assert kept + session_charge(layer) + 1 == ENTRIES
        assert layer.prefix.positions(0, 0)[:4].tolist() == [0, 1, 2, 3]
        assert not torch.equal(layer.rest.moments_bkdd, before)
        assert torch.isfinite(layer.rest.moments_bkdd).all()
    plain = engine.compress(model, text[:PROMPT], "core:every=None", ENTRIES)
    plain.logits(text[PROMPT:])
    assert max(held) < plain.held_bytes()


def session_charge(layer):
    """Keys per head that the memory's numbers are worth, rounded up."""
    numbers = sum(t.numel() for t in layer.rest.tensors().values()) / layer.rest.mass_bk.numel()
    return -(-(numbers + 1) // (2 * layer.prefix.keys_bkmd.shape[3]))


def test_memory_and_eviction_survive_a_file(bundled, text, tmp_path):
    session = engine.compress(bundled.model, text[:PROMPT], "core", ENTRIES)
    session.logits(text[PROMPT : PROMPT + 100])
    session.save(tmp_path / "cache.safetensors")
    again = engine.restore(bundled.model, tmp_path / "cache.safetensors")
    rest = text[PROMPT + 100 : PROMPT + 200]
    torch.testing.assert_close(again.logits(rest), session.logits(rest))
    assert again.held_bytes() == session.held_bytes()


def test_too_small_a_budget_names_what_the_memory_costs(bundled, text):
    with pytest.raises(ValueError, match="33 of them for what stands for evicted keys"):
        engine.compress(bundled.model, text[:PROMPT], "core", 30)
