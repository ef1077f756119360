"""Whole pages through the engine, for groups of 1, 2, 6 and 8 query heads.

Tolerance as in test_compress.py: float32 sums in another order.
"""

import functools

import pytest
import torch
from engine_models import SHAPE, kept_sets, masked_dense_logits, prompt, tiny
from transformers import AutoModelForCausalLM, LlamaConfig

from kvteach import engine, methods
from kvteach.budgets import pages
from kvteach.budgets.pages import WholePages
from kvteach.scores.pooled import Pooled

CLOSE = {"atol": 2e-4, "rtol": 2e-4}
GROUPS = {1: (4, 4), 2: (4, 2), 6: (12, 2), 8: (8, 1)}


@functools.cache
def grouped(size):
    """A tiny random Llama with ``size`` query heads to a KV head, attention sharp."""
    heads, kv_heads = GROUPS[size]
    shape = {**SHAPE, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
             "head_dim": 8}
    torch.manual_seed(size)
    model = AutoModelForCausalLM.from_config(LlamaConfig(**shape)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(4)
    model.generation_config.eos_token_id = None
    return model


def method(page=8, kind="paged", **score):
    return methods.Method("pages", Pooled(**score), WholePages(page), kind, "")


@pytest.mark.parametrize("kind", ["paged", "paged-layer"])
@pytest.mark.parametrize("size", GROUPS)
@pytest.mark.parametrize("page", [1, 5, 16])
def test_decoding_is_masked_dense_attention_over_whole_pages(size, page, kind):
    model, text = grouped(size), prompt(90)
    session = engine.compress(model, text[:75], method(page, kind), 32)
    kept = kept_sets(session)
    expected = masked_dense_logits(model, text, 74, kept)[74:]
    torch.testing.assert_close(session.logits(text[75:])[0], expected, **CLOSE)
    made = pages.account(32, 75, page, 4, GROUPS[size][1], last_stays=True)
    held = sum(len(p) + 1 for heads in kept.values() for p in heads)  # + the newest token
    assert held == made.most == made.least <= 32 * 4 * GROUPS[size][1]
    for heads in kept.values():
        for positions in heads:
            numbers = positions.div(page, rounding_mode="floor")
            for n in numbers.unique().tolist():
                assert (numbers == n).sum() == min(page, 74 - n * page)


def test_prompts_of_other_lengths_keep_the_pages_that_they_keep_alone():
    model, text = grouped(6), prompt(60)
    padded = torch.stack([text, torch.cat([torch.zeros(11, dtype=torch.int64), text[:49]])])
    mask = torch.ones_like(padded)
    mask[1, :11] = 0
    both = engine.compress(model, padded, method(), 0.5, attention_mask=mask)
    alone = engine.compress(model, text[:49], method(), 0.5)
    for ours, own in zip(both.cache.layers, alone.cache.layers):
        for head in range(2):
            assert torch.equal(ours.prefix.positions(1, head) - 11, own.prefix.positions(0, head))
        pages_held = ours.prefix.lengths_bh[1] // 8
        assert torch.equal(pages_held, own.prefix.lengths_bh[0] // 8)
    torch.testing.assert_close(both.logits()[1], alone.logits()[0], **CLOSE)


def test_beams_share_pages_and_files_bring_them_back(tmp_path):
    model, text = grouped(2), prompt(60)
    session = engine.compress(model, text[:50], method(), 24)
    same = engine.compress(model, text[:50], method(), 24, store="masked")
    session.save(tmp_path / "pages.safetensors")
    again = engine.session.restore(model, tmp_path / "pages.safetensors")
    assert again.held_bytes() == session.held_bytes()
    torch.testing.assert_close(again.logits(text[50:]), session.fork().logits(text[50:]))
    beams = dict(max_new_tokens=6, num_beams=3, do_sample=False)
    assert torch.equal(session.generate(**beams), same.generate(**beams))
    fork = session.fork(2)
    layer = session.cache.layers[0].prefix
    assert fork.cache.layers[0].prefix.keys_npgd is layer.keys_npgd


def test_a_budget_below_the_last_page_says_what_it_needs():
    with pytest.raises(ValueError, match=r"entries: 4 keys per head give layer 0 0 pages of 16, "
                                         r"where 1 must stay; legal are 12 \.\. 60"):
        engine.compress(grouped(2), prompt(60), method(16), 4)


def test_no_more_bytes_than_promised():
    """Keys and values of whole pages; the table and positions cost 8 bytes a page."""
    session = engine.compress(grouped(6), prompt(96), method(16), 48)
    parts = session.ledger.parts
    assert parts["keys"] + parts["values"] <= session.ledger.nominal
    pages_held = parts["keys"] // (16 * 8 * 4)
    assert parts["table"] + parts["firsts"] + parts["lengths"] <= 8 * pages_held + 4 * 4 * 2


@pytest.mark.parametrize("count", [30_000, 40_001, 60_000])
def test_bytes_hold_with_a_last_page_that_is_nearly_empty(count):
    """A page is held whole: a budget in bytes leaves room for it."""
    session = engine.compress(tiny("llama"), prompt(130), "page-entrokv", engine.Bytes(count))
    assert count / 2 < session.held_bytes() <= count
    with pytest.raises(ValueError, match="one key, and a page of 16, per head takes"):
        engine.compress(tiny("llama"), prompt(130), "page-entrokv", engine.Bytes(5_000))
