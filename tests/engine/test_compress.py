"""Compressed decoding is masked dense attention, on every supported kind of model.

Tolerance 2e-4 on logits of size about 20: float32 sums in another order, through four
layers whose weights are four times as large as usual.
"""

import pytest
import torch
from engine_models import kept_sets, masked_dense_logits, prompt, tiny
from transformers import DynamicCache

from kvteach import engine, methods, models

CLOSE = {"atol": 2e-4, "rtol": 2e-4}
SMALL = {"snapkv": {"window": 8, "kernel": 3}}


def small(name):
    """The method with a window that tiny prompts have."""
    return methods.get(name, **SMALL.get(name, {}))


@pytest.mark.parametrize("store", ["masked", "padded", "ragged"])
@pytest.mark.parametrize("name", ["snapkv", "knorm", "streaming"])
def test_decoding_is_masked_dense_attention(any_model, name, store):
    text = prompt(70)
    session = engine.compress(any_model, text[:50], small(name), 0.4, store=store)
    kept = kept_sets(session)
    assert kept and all(len(p) == 19 for heads in kept.values() for p in heads)
    expected = masked_dense_logits(any_model, text, 49, kept)[49:]
    torch.testing.assert_close(session.logits(text[50:])[0], expected, **CLOSE)


def test_a_token_at_a_time_gives_the_same_logits(any_model):
    text = prompt(70)
    at_once = engine.compress(any_model, text[:50], small("snapkv"), 0.4)
    stepwise = engine.compress(any_model, text[:50], small("snapkv"), 0.4)
    expected = at_once.logits(text[50:])[0]
    seen = [stepwise.logits()[0, -1]]
    seen += [stepwise.logits(token[None])[0, -1] for token in text[50:]]
    torch.testing.assert_close(torch.stack(seen), expected, **CLOSE)


@pytest.mark.parametrize("store", ["masked", "padded", "ragged"])
def test_everything_kept_reproduces_the_model(any_model, store):
    text = prompt(60)
    session = engine.compress(any_model, text[:40], "full", store=store)
    with torch.no_grad():
        expected = any_model(text[None]).logits[0, 39:]
    torch.testing.assert_close(session.logits(text[40:])[0], expected, **CLOSE)
    greedy = engine.compress(any_model, text[:40], "snapkv", 1.0, store=store)
    told = any_model.generate(text[None, :40], max_new_tokens=12, do_sample=False)
    assert torch.equal(greedy.generate(max_new_tokens=12, do_sample=False), told[:, 40:])


@pytest.mark.parametrize("store", ["padded", "ragged"])
def test_the_real_model_with_everything_kept(bundled, speech, store):
    session = engine.compress(bundled.model, speech[:300], "snapkv", 300, store=store)
    expected = models.read(bundled.model, speech[:340])[299:]
    # Logits reach 35; two orders of float32 sums through 30 layers differ by 5e-5.
    torch.testing.assert_close(session.logits(speech[300:340])[0], expected, atol=3e-4, rtol=0)
    told = bundled.model.generate(speech[None, :300], max_new_tokens=16, do_sample=False)
    again = engine.compress(bundled.model, speech[:300], "full", store=store)
    assert torch.equal(again.generate(max_new_tokens=16, do_sample=False), told[:, 300:])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    """One half-precision ulp at logits of 20 is 0.06 (bfloat16): rows agree within a few."""
    model = tiny("llama", dtype)
    text = prompt(70)
    session = engine.compress(model, text[:50], small("snapkv"), 0.4, store="ragged")
    expected = masked_dense_logits(model, text, 49, kept_sets(session))[49:]
    got = session.logits(text[50:])[0]
    assert got.dtype == dtype and torch.isfinite(got).all()
    spread = expected.float().std()
    assert (got - expected).float().abs().mean() < 0.02 * spread


# --- the three conditions -----------------------------------------------------------


def test_question_after_the_eviction(llama):
    text, question = prompt(50), prompt(9, seed=1)
    session = engine.compress(llama, text, small("snapkv"), 0.4, question=question, condition="after")
    alone = engine.compress(llama, text, small("snapkv"), 0.4)
    assert str(kept_sets(session)) == str(kept_sets(alone))
    expected = masked_dense_logits(llama, torch.cat([text, question]), 49, kept_sets(alone))
    torch.testing.assert_close(session.logits()[0, -1], expected[-1], **CLOSE)


def test_a_visible_question_is_part_of_the_prompt(llama):
    text, question = prompt(50), prompt(9, seed=1)
    session = engine.compress(llama, text, small("snapkv"), 20, question=question)
    joined = engine.compress(llama, torch.cat([text, question]), small("snapkv"), 20)
    assert str(kept_sets(session)) == str(kept_sets(joined))
    assert torch.equal(session.logits(), joined.logits())


def test_document_rows_rank_as_if_the_question_were_not_there(llama):
    """SnapKV's window is then the document's last rows: the document keys that it
    ranks highest are those that it ranks highest without any question."""
    text, question = prompt(60), prompt(6, seed=1)
    session = engine.compress(
        llama, text, small("snapkv"), 26, question=question, condition="document"
    )
    seen = engine.compress(llama, torch.cat([text, question]), small("snapkv"), 26)
    alone = engine.compress(llama, text, small("snapkv"), 26)
    assert str(kept_sets(session)) != str(kept_sets(seen))
    for layer, heads in kept_sets(session).items():
        for head, positions in enumerate(heads):
            ranked = positions[positions < 60 - 8]  # before either forced window
            before = kept_sets(alone)[layer][head]
            assert set(ranked.tolist()) <= set(before.tolist()) | set(range(50, 60))


# --- budgets ------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(
    set(methods.METHODS)
    - {"full", *methods.FITTED}  # these hold weights of the bundled model
    - {"kvzip", "contourkv-kvzip", "tangent-kvzip"}  # these need a tokenizer for their words
))
def test_budgets_mean_the_same_for_every_method(llama, name):
    text = prompt(200)
    spare = 16 if name == "page-entrokv" else 0  # bytes set aside for a short last page
    in_bytes = engine.Bytes(4 * 2 * (150 + spare) * 68)
    for budget, entries in ((0.5, 100), (150, 150), (in_bytes, 150)):
        session = engine.compress(llama, text, name, budget)
        total = sum(int(kept.sum()) + 2 for kept in session.ledger.kept)
        assert 4 * 2 * (entries - 20) < total <= 4 * 2 * entries
        assert session.ledger.nominal == 2 * 8 * 4 * 4 * 2 * entries


def test_bytes_are_those_of_the_storage(llama):
    session = engine.compress(llama, prompt(200), small("snapkv"), 0.5, store="ragged")
    assert session.ledger.compressed == session.held_bytes()
    # 4 layers, 2 heads, 99 keys: key and value of 8 floats, an int32 position; 2 int32
    # per head for where it starts and how long it is.
    assert session.held_bytes() == 4 * 2 * (99 * (2 * 8 * 4 + 4) + 8)
    session.logits(prompt(3, seed=2))
    assert session.held_bytes() > session.ledger.compressed


def test_layers_are_freed_as_they_are_compressed(llama):
    text = prompt(400)
    streamed = engine.compress(llama, text, small("snapkv"), 0.1)
    assert streamed.ledger.prefill_peak < 0.5 * streamed.ledger.full
    masked = engine.compress(llama, text, small("snapkv"), 0.1, store="masked")
    assert masked.ledger.compressed > 0.99 * masked.ledger.full


def test_memory_of_the_cache_really_falls(llama):
    """No tensor of the uncompressed cache survives: the only float tensors of [.., 8]
    numbers alive in the session are counted."""
    session = engine.compress(llama, prompt(200), small("snapkv"), 0.25)
    assert isinstance(session.cache.layers[0].prefix.tensors()["keys"], torch.Tensor)
    dynamic = DynamicCache()
    models.read(llama, prompt(200), dynamic)
    full = sum(t.nbytes for layer in dynamic.layers for t in (layer.keys, layer.values))
    assert session.held_bytes() < 0.27 * full
