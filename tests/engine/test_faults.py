"""Faults that users of such libraries meet, each shown to be absent.

Padding scored as keys, state shared by two conversations, second turns at wrong
positions, beams, sliding windows, an attention setting that is ignored, ties that
evict what must stay, survivors out of order, lengths that go stale, and others.
"""

import gc
import weakref

import pytest
import torch
from engine_models import kept_sets, masked_dense_logits, prompt, tiny
from hypothesis import given
from hypothesis import strategies as st
from transformers import DynamicCache, StaticCache

from kvteach import engine, methods, models

CLOSE = {"atol": 2e-4, "rtol": 2e-4}
SNAPKV = methods.get("snapkv", window=8, kernel=3)


def compressed(model, tokens, budget=0.4, method=SNAPKV, **options):
    return engine.compress(model, tokens, method, budget, **options)


# --- padding and batches ----------------------------------------------------------------


@pytest.mark.parametrize("store", ["masked", "padded", "ragged"])
@pytest.mark.parametrize("method", ["snapkv", "knorm", "streaming"])
def test_left_padding_changes_nothing(any_model, method, store):
    if method == "knorm" and any_model is tiny("qwen3"):
        pytest.skip("its keys are normalised, so that rounding alone ranks their lengths")
    method = SNAPKV if method == "snapkv" else methods.get(method)
    long, short, question = prompt(50), prompt(31, seed=4), prompt(5, seed=5)
    padded = torch.cat([torch.zeros(19, dtype=torch.long), short])
    mask = torch.cat([torch.zeros(19), torch.ones(31)])
    both = compressed(
        any_model, torch.stack([long, padded]), method=method, store=store,
        attention_mask=torch.stack([torch.ones(50), mask]),
    )
    told = both.logits(question)
    for row, alone in enumerate((long, short)):
        single = compressed(any_model, alone, method=method, store=store)
        torch.testing.assert_close(told[row], single.logits(question)[0], **CLOSE)
        held = [(p - (0, 19)[row]).tolist() for p in kept_sets(both, row)[0]] if (
            0 in kept_sets(both)) else []
        assert held == [p.tolist() for p in kept_sets(single).get(0, [])]


def test_batched_generation_equals_one_at_a_time(any_model):
    long, short = prompt(50), prompt(31, seed=4)
    padded = torch.cat([torch.zeros(19, dtype=torch.long), short])
    mask = torch.stack([torch.ones(50), torch.cat([torch.zeros(19), torch.ones(31)])])
    both = compressed(any_model, torch.stack([long, padded]), attention_mask=mask)
    told = both.generate(max_new_tokens=8, do_sample=False)
    for row, alone in enumerate((long, short)):
        single = compressed(any_model, alone).generate(max_new_tokens=8, do_sample=False)
        assert torch.equal(told[row], single[0])


# --- conversations ----------------------------------------------------------------------


def test_two_conversations_do_not_touch_each_other(llama):
    texts = [prompt(50, seed=s) for s in (1, 2)]
    alone = [compressed(llama, t).logits(prompt(4, seed=9))[0] for t in texts]
    first, second = (compressed(llama, t) for t in texts)
    for i, token in enumerate(prompt(4, seed=9)):
        for session, expected in ((first, alone[0]), (second, alone[1])):
            before = session.logits(token[None])[0]
            torch.testing.assert_close(before, expected[i : i + 2], **CLOSE)


def test_second_turn_stands_at_true_positions(any_model):
    text = prompt(80)
    session = compressed(any_model, text[:50])
    kept = kept_sets(session)
    session.logits(text[50:57])
    session.logits(text[57:62])
    assert session.cache.get_seq_length() == 62
    expected = masked_dense_logits(any_model, text, 49, kept)[61:]
    torch.testing.assert_close(session.logits(text[62:])[0], expected, **CLOSE)


def test_generating_and_asking_again(llama):
    session = compressed(llama, prompt(50))
    kept = kept_sets(session)
    answer = session.generate(max_new_tokens=6, do_sample=False)[0]
    more = session.generate(prompt(5, seed=3), max_new_tokens=6, do_sample=False)[0]
    text = torch.cat([prompt(50), answer, prompt(5, seed=3), more])
    expected = masked_dense_logits(llama, text, 49, kept)
    assert torch.equal(expected[49:55].argmax(-1), answer)
    assert torch.equal(expected[60:66].argmax(-1), more)


def test_logits_then_generate_without_new_tokens(llama):
    session = compressed(llama, prompt(50))
    first = session.logits(prompt(4, seed=3))[0, -1].argmax()
    assert session.generate(max_new_tokens=3, do_sample=False)[0, 0] == first


def test_a_fork_leaves_its_origin_alone(any_model):
    session = compressed(any_model, prompt(50))
    expected = compressed(any_model, prompt(50)).logits(prompt(4, seed=7))
    fork = session.fork()
    fork.generate(prompt(6, seed=8), max_new_tokens=5, do_sample=False)
    torch.testing.assert_close(session.logits(prompt(4, seed=7)), expected, **CLOSE)


@pytest.mark.parametrize("store", ["masked", "padded", "ragged"])
def test_saved_and_restored(any_model, store, tmp_path):
    session = compressed(any_model, prompt(50), store=store)
    session.logits(prompt(4, seed=3))
    session.save(tmp_path / "cache.safetensors")
    again = engine.restore(any_model, tmp_path / "cache.safetensors")
    assert again.ledger.compressed == session.ledger.compressed
    assert again.held_bytes() <= session.held_bytes()  # a window may be a view of more
    assert str(kept_sets(again)) == str(kept_sets(session))
    told = session.logits(prompt(5, seed=6))
    assert torch.equal(again.logits(prompt(5, seed=6)), told)


def test_a_file_of_another_model_is_refused(llama, tmp_path):
    compressed(llama, prompt(50)).save(tmp_path / "cache.safetensors")
    with pytest.raises(ValueError, match="belongs to other weights"):
        engine.restore(tiny("qwen3"), tmp_path / "cache.safetensors")
    (tmp_path / "broken").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="cannot be read"):
        engine.restore(llama, tmp_path / "broken")


# --- reading and writing with transformers ------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 7, 25, 49, 50, 64])
def test_chunked_prefill_is_prefill(any_model, chunk):
    whole = compressed(any_model, prompt(50))
    chunked = compressed(any_model, prompt(50), chunk=chunk)
    assert str(kept_sets(whole)) == str(kept_sets(chunked))
    torch.testing.assert_close(
        whole.logits(prompt(4, seed=1)), chunked.logits(prompt(4, seed=1)), **CLOSE
    )


@pytest.mark.parametrize("store", ["padded", "ragged"])
def test_beam_search_is_beam_search_over_the_kept_keys(llama, store):
    """The best beam is the continuation with the largest sum of log-probabilities of
    all that two beams reach, here checked against beams run by hand."""
    session = compressed(llama, prompt(50), store=store)
    got = session.generate(max_new_tokens=5, num_beams=3, do_sample=False)[0]

    def log_probabilities(continuation):
        branch = compressed(llama, prompt(50), store=store)
        return branch.logits(continuation if len(continuation) else None)[0].log_softmax(-1)

    beams = [(0.0, [])]
    for _ in range(5):
        grown = []
        for total, tokens in beams:
            last = log_probabilities(torch.tensor(tokens, dtype=torch.long))[-1]
            grown += [(total + float(p), [*tokens, i]) for i, p in enumerate(last)]
        beams = sorted(grown, reverse=True)[:3]
    assert got.tolist() == beams[0][1]


def test_beams_leave_the_session_where_it_was(llama):
    session = compressed(llama, prompt(50))
    expected = compressed(llama, prompt(50)).logits(prompt(4, seed=2))
    several = session.generate(max_new_tokens=4, do_sample=True, num_return_sequences=3)
    assert several.shape == (3, 4)
    torch.testing.assert_close(session.logits(prompt(4, seed=2)), expected, **CLOSE)


def test_sampling_follows_the_seed(llama):
    texts = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        texts.append(compressed(llama, prompt(50)).generate(max_new_tokens=12, do_sample=True))
    assert torch.equal(texts[0], texts[1]) and not torch.equal(texts[0], texts[2])


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_the_models_own_attention_setting_does_not_matter(llama, implementation):
    before = llama.config._attn_implementation
    expected = compressed(llama, prompt(50)).logits(prompt(4, seed=1))
    try:
        llama.set_attn_implementation(implementation)
        got = compressed(llama, prompt(50)).logits(prompt(4, seed=1))
        assert llama.config._attn_implementation == implementation
    finally:
        llama.set_attn_implementation(before)
    torch.testing.assert_close(got, expected, **CLOSE)


@pytest.mark.parametrize("option", ["cache", "past_key_values", "cache_implementation",
                                    "attention_mask", "use_cache", "position_ids"])
def test_options_that_would_be_ignored_are_refused(llama, option):
    session = compressed(llama, prompt(50))
    value = StaticCache(config=llama.config, max_cache_len=64) if "cache" == option else "static"
    with pytest.raises(ValueError, match=option):
        session.generate(max_new_tokens=2, **{option: value})
    assert session.generate(max_new_tokens=2, do_sample=False).shape == (1, 2)


# --- what is kept ---------------------------------------------------------------------------


def test_survivors_stand_in_order_of_time(llama):
    for store in ("masked", "padded", "ragged"):
        for heads in kept_sets(compressed(llama, prompt(50), store=store)).values():
            for positions in heads:
                assert (positions.diff() > 0).all()


def test_ties_and_constant_scores_keep_what_must_stay():
    """A model whose keys are all equal ties every score."""
    import copy

    model = copy.deepcopy(tiny("llama"))
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.k_proj.weight.zero_()
    first = kept_sets(compressed(model, prompt(50), budget=12))
    again = kept_sets(compressed(model, prompt(50), budget=12))
    assert str(first) == str(again)
    for heads in first.values():
        for positions in heads:
            assert set(range(42, 49)) <= set(positions.tolist())  # the window but the last
            # Of equals, the earliest; the first key is no equal, the mean over three
            # neighbours counts a zero before it.
            assert {1, 2, 3, 4} <= set(positions.tolist())


@given(length=st.integers(1, 4), budget=st.sampled_from([1, 2, 0.5, 1.0]))
def test_very_short_prompts(length, budget):
    model, text = tiny("llama"), prompt(12)
    session = engine.compress(model, text[:length], "knorm", budget)
    expected = masked_dense_logits(model, text, length - 1, kept_sets(session))[length - 1 :]
    torch.testing.assert_close(session.logits(text[length:])[0], expected, **CLOSE)


def test_half_precision_does_not_overflow():
    import copy

    model = copy.deepcopy(tiny("llama", torch.float16))
    with torch.no_grad():
        for layer in model.model.layers:  # logits beyond 65,504
            layer.self_attn.q_proj.weight.mul_(40)
            layer.self_attn.k_proj.weight.mul_(40)
    session = compressed(model, prompt(50))
    assert torch.isfinite(session.logits(prompt(4, seed=1))).all()


# --- what is left behind -------------------------------------------------------------------


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_an_exception_leaves_the_model_as_it_was(llama):
    class Failing:
        window, hidden = 4, False
        calls = 0

        def __call__(self, layer):
            self.calls += 1
            if self.calls == 3:
                raise RuntimeError("planted")
            return torch.zeros(layer.keys_ksd.shape[:2])

    before, outside = llama.config._attn_implementation, hooks(llama)
    expected = llama(prompt(20)[None]).logits
    method = methods.Method("failing", Failing(), SNAPKV.budget, "padded", "")
    with pytest.raises(RuntimeError, match="planted"):
        engine.compress(llama, prompt(50), method, 0.5)
    assert llama.config._attn_implementation == before and hooks(llama) == outside
    assert torch.equal(llama(prompt(20)[None]).logits, expected)
    session = compressed(llama, prompt(50))
    with pytest.raises(TypeError):
        session.generate(max_new_tokens="many")
    assert llama.config._attn_implementation == before and hooks(llama) == outside


def test_lengths_do_not_go_stale(llama):
    session = compressed(llama, prompt(50))
    for turn in range(1, 4):
        session.logits(prompt(3, seed=turn))
        assert session.cache.get_seq_length() == 50 + 3 * turn == session.tokens_bt.shape[1]
    session.generate(max_new_tokens=4, do_sample=False)
    assert session.tokens_bt.shape[1] == 63 and session.cache.get_seq_length() == 62


def test_a_dropped_session_frees_its_memory(llama):
    session = compressed(llama, prompt(50))
    key = weakref.ref(session.cache.layers[0].prefix.keys_bkmd)
    session.generate(max_new_tokens=2, do_sample=False)
    del session
    gc.collect()
    assert key() is None


def test_the_models_ordinary_use_is_undisturbed(llama):
    cache = DynamicCache()
    expected = models.read(llama, prompt(20), DynamicCache())
    session = compressed(llama, prompt(50))
    session.logits(prompt(4))
    assert torch.equal(models.read(llama, prompt(20), cache), expected)


# --- sliding windows ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gemma2", "gemma3"])
def test_sliding_layers_keep_their_window(name):
    model = tiny(name)
    session = compressed(model, prompt(50), budget=0.3)
    kinds = [hasattr(layer, "prefix") for layer in session.cache.layers]
    assert kinds == [kind == "full_attention" for kind in model.config.layer_types]
    for layer, compresses in zip(session.cache.layers, kinds):
        if not compresses:
            assert layer.keys.shape[2] == 15 and layer.get_seq_length() == 49
    text = torch.cat([prompt(50), prompt(30, seed=1)])  # well past the window
    expected = masked_dense_logits(model, text, 49, kept_sets(session))[49:]
    torch.testing.assert_close(session.logits(text[50:])[0], expected, **CLOSE)


def test_a_model_that_slides_everywhere_is_refused():
    from engine_models import SHAPE
    from transformers import AutoModelForCausalLM, MistralConfig

    model = AutoModelForCausalLM.from_config(MistralConfig(**SHAPE, sliding_window=16)).eval()
    with pytest.raises(NotImplementedError, match="every layer of this model slides"):
        compressed(model, prompt(50))


# --- threads, interruptions, ends of sequences ----------------------------------------------


def test_threads_wait_for_one_another_and_the_model_comes_back(llama):
    import threading

    texts = [prompt(50, seed=s) for s in range(4)]
    expected = [compressed(llama, t).generate(max_new_tokens=12, do_sample=False) for t in texts]
    plain, told, seen = llama(prompt(20)[None]).logits, {}, []

    def work(i):
        told[i] = compressed(llama, texts[i]).generate(max_new_tokens=12, do_sample=False)

    def ordinary():
        for _ in range(20):
            seen.append(llama(prompt(20)[None]).logits)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    threads.append(threading.Thread(target=ordinary))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(told[i], expected[i]) for i in range(4))
    assert len(seen) == 20 and all(torch.allclose(s, plain, atol=1e-4) for s in seen)
    assert llama.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("name", ["llama", "gemma3"])
def test_an_interrupted_call_leaves_the_session_where_it_was(name):
    from transformers.generation.streamers import BaseStreamer

    class Stop(BaseStreamer):
        count = 0

        def put(self, value):
            self.count += 1
            if self.count == 5:
                raise KeyboardInterrupt

        def end(self):
            pass

    model = tiny(name)
    session = compressed(model, prompt(50))
    session.logits(prompt(3, seed=2))
    expected = session.fork().generate(prompt(4, seed=3), max_new_tokens=6, do_sample=False)
    with pytest.raises(KeyboardInterrupt):
        session.generate(prompt(4, seed=3), max_new_tokens=9, do_sample=False, streamer=Stop())
    assert session.tokens_bt.shape[1] == 53
    assert torch.equal(
        session.generate(prompt(4, seed=3), max_new_tokens=6, do_sample=False), expected)
    again = compressed(model, prompt(50))
    handle = model.base_model.layers[2].register_forward_pre_hook(lambda *_: 1 / 0)
    try:
        with pytest.raises(ZeroDivisionError):
            again.logits(prompt(4, seed=3))
    finally:
        handle.remove()
    torch.testing.assert_close(again.logits(prompt(4, seed=3)),
                               compressed(model, prompt(50)).logits(prompt(4, seed=3)))


def test_a_second_turn_after_one_row_has_ended(llama):
    """What fills up a finished row is no text: as if the row had been alone."""
    texts = torch.stack([prompt(50, seed=1), prompt(50, seed=2)])
    first = compressed(llama, texts).generate(max_new_tokens=8, do_sample=False)
    end = next(int(t) for i, t in enumerate(first[0]) if i < 6 and t not in first[1])
    both = compressed(llama, texts)
    told = both.generate(max_new_tokens=8, do_sample=False, eos_token_id=end, pad_token_id=0)
    length = told[0].tolist().index(end) + 1
    assert length < told.shape[1] and (told[0, length:] == 0).all()
    after = both.logits(prompt(4, seed=3))
    for row, tokens in ((0, told[0, :length]), (1, told[1])):
        alone = compressed(llama, texts[row])
        alone.logits(tokens)
        torch.testing.assert_close(
            after[row, -4:], alone.logits(prompt(4, seed=3))[0, -4:], **CLOSE)


@pytest.mark.parametrize("option", [
    {"prompt_lookup_num_tokens": 3}, {"guidance_scale": 2.0}, {"assistant_early_exit": 2},
    {"assistant_model": "another"},
])
def test_decoding_that_reads_the_prompt_again_is_refused(llama, option):
    session = compressed(llama, prompt(50))
    with pytest.raises(ValueError, match=f"{next(iter(option))}: .* reads the prompt again"):
        session.generate(max_new_tokens=4, **option)


def test_options_count_wherever_they_stand(llama):
    from transformers import GenerationConfig

    session = compressed(llama, prompt(50))
    expected = session.fork().generate(max_new_tokens=5, num_beams=3, do_sample=False)
    config = GenerationConfig(max_new_tokens=5, num_beams=3, do_sample=False)
    assert torch.equal(session.generate(generation_config=config), expected)
    with pytest.raises(ValueError, match="the session sets the cache itself"):
        session.generate(generation_config=GenerationConfig(max_new_tokens=5, use_cache=False))


def test_chunks_keep_only_the_rows_that_a_rule_reads(llama):
    whole = compressed(llama, prompt(400), budget=0.1)
    chunked = compressed(llama, prompt(400), budget=0.1, chunk=50)
    assert str(kept_sets(whole)) == str(kept_sets(chunked))
    # transformers held seven of eight chunks of the layers that were still to come.
    assert chunked.ledger.prefill_peak > 7 / 8 * chunked.ledger.full
    assert whole.ledger.prefill_peak < 0.5 * whole.ledger.full
