"""Scores of answers and distances to the full cache."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach import attention, engine, methods
from kvteach.evaluate import metrics

CUT = 39  # of 40 document tokens the last is held out of the eviction


def prompt(length, seed=0):
    return torch.randint(1, 50, (length,), generator=torch.Generator().manual_seed(seed))


def compressed(model, name="snapkv", budget=0.4, length=CUT + 1):
    changes = {"window": 8, "kernel": 3} if name == "snapkv" else {}
    return engine.compress(model, prompt(length), methods.get(name, **changes), budget)


# --- answers ------------------------------------------------------------------------


def test_an_answer_is_scored_token_by_token(generator):
    logits = torch.randn(5, 11, generator=generator)
    tokens = logits.argmax(-1)
    told = metrics.answer(logits, tokens)
    wide = logits.double().numpy()
    expected = np.log(np.exp(wide).sum(1)) - wide[np.arange(5), tokens]
    np.testing.assert_allclose(told.nll, expected, atol=1e-6)  # float32 of numbers near 1
    assert told.exact and told.tokens == 1.0
    tokens[2] = (tokens[2] + 1) % 11
    told = metrics.answer(logits, tokens)
    assert not told.exact and told.tokens == pytest.approx(0.8)
    assert told.loss == pytest.approx(told.nll.double().mean().item(), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_exact_is_what_greedy_decoding_gives(random_llama, seed):
    session = compressed(random_llama)
    question = prompt(5, seed=100 + seed)
    greedy = session.fork().generate(question, max_new_tokens=4, do_sample=False)[0]
    assert metrics.ask(session, question, greedy).exact
    for place in range(4):
        wrong = greedy.clone()
        wrong[place] = wrong[place] % 49 + 1
        told = metrics.ask(session, question, wrong)
        assert not told.exact and not told.right[place]
        assert told.right[:place].all()


def test_asking_leaves_the_session_where_it_is(random_llama):
    session = compressed(random_llama)
    first = metrics.ask(session, prompt(5, 1), prompt(3, 2))
    metrics.ask(session, prompt(7, 3), prompt(2, 4))
    again = metrics.ask(session, prompt(5, 1), prompt(3, 2))
    assert torch.equal(first.nll, again.nll)


def test_the_full_cache_is_the_plain_model(random_llama):
    question, wanted = prompt(5, 1), prompt(3, 2)
    told = metrics.ask(compressed(random_llama, "full", None), question, wanted)
    whole = torch.cat([prompt(CUT + 1), question, wanted])
    with torch.no_grad():
        logits = random_llama(whole[None]).logits[0]
    expected = torch.nn.functional.cross_entropy(logits[-4:-1], wanted, reduction="none")
    torch.testing.assert_close(told.nll, expected, atol=2e-5, rtol=0)  # order of sums


def test_a_question_that_was_read_already(random_llama):
    question, wanted = prompt(5, 1), prompt(3, 2)
    session = engine.compress(random_llama, prompt(CUT + 1), "full", question=question)
    seen = metrics.ask(session, None, wanted)
    later = metrics.ask(compressed(random_llama, "full", None), question, wanted)
    torch.testing.assert_close(seen.nll, later.nll, atol=2e-5, rtol=0)  # order of sums


def test_agreement_counts_equal_choices():
    a = torch.eye(4)[[0, 1, 2, 3]]
    b = torch.eye(4)[[0, 1, 3, 2]]
    assert metrics.token_agreement(a, a) == 1.0
    assert metrics.token_agreement(a, b) == 0.5


def test_wrong_shapes_are_refused():
    logits = torch.zeros(3, 7)
    with pytest.raises(ValueError, match="tokens: 2"):
        metrics.answer(logits, torch.zeros(2, dtype=torch.long))
    with pytest.raises(ValueError, match="logits"):
        metrics.token_agreement(logits, logits[:2])
    with pytest.raises(ValueError, match="accepted"):
        metrics.f1("x", "x")
    with pytest.raises(ValueError, match="accepted"):
        metrics.string_match("x", [])


# --- texts ---------------------------------------------------------------------------


def test_string_match():
    assert metrics.string_match("It is PARIS, surely", ["paris", "Lutetia"]) == 1.0
    assert metrics.string_match("It is PARIS, surely", ["paris", "Lutetia"], every=True) == 0.5
    assert metrics.string_match("No idea", ["paris"]) == 0.0


def test_f1_by_hand():
    # got: {quick, brown, fox}, wanted: {brown, fox, jumps, high}; 2 * 2 / (3 + 4)
    got = metrics.f1("The quick, brown fox.", ["a brown fox jumps high"])
    assert got == pytest.approx(4 / 7)
    assert metrics.f1("The fox!", ["wolf", "fox"]) == 1.0
    assert metrics.f1("", ["fox"]) == 0.0
    assert metrics.f1("the", ["a"]) == 1.0  # nothing is left of either


words = st.lists(st.sampled_from(["fox", "owl", "bear"]), min_size=1, max_size=6)


@given(words, words)
def test_f1_is_symmetric_and_between_0_and_1(a, b):
    one, other = (metrics.f1(" ".join(x), [" ".join(y)]) for x, y in ((a, b), (b, a)))
    assert one == pytest.approx(other) and 0 <= one <= 1
    assert (one == pytest.approx(1)) == (sorted(a) == sorted(b))


# --- layers --------------------------------------------------------------------------


def dense_outputs(model, tokens, kept=None, beside=None):
    """Attention outputs per layer by explicit float64 softmax over whole rows.

    kept: positions per layer and KV head that rows from CUT on may see among the
    first CUT. beside: as kept, for outputs that are recorded but not passed on.
    """
    length, found = len(tokens), {}
    causal = torch.ones(length, length, dtype=torch.bool).tril()

    def masked(index, kv_head, which):
        seen = causal.clone()
        if which is not None:
            stays = torch.zeros(length, dtype=torch.bool)
            stays[which[index][kv_head]] = True
            stays[CUT:] = True
            seen[CUT:] &= stays
        return seen

    def attend(module, query, key, value, mask, scaling, **_):
        outputs = []
        for which in (kept, beside):
            heads = []
            for head in range(query.shape[1]):
                kv_head = head // (query.shape[1] // key.shape[1])
                q, k, v = query[0, head], key[0, kv_head], value[0, kv_head]
                logits = q.double() @ k.double().T * scaling
                seen = masked(module.layer_idx, kv_head, which)
                heads.append(logits.masked_fill(~seen, -torch.inf).softmax(-1) @ v.double())
            outputs.append(torch.stack(heads, 1))
        found[module.layer_idx] = outputs[0 if beside is None else 1][CUT:]
        return outputs[0][None].to(query.dtype), None

    with attention.replaced(model, attend), torch.no_grad():
        model(tokens[None], use_cache=False)
    return found


@pytest.mark.parametrize("store", ["padded", "ragged"])
def test_layer_errors_are_those_of_masked_attention(random_llama, store):
    document, fresh = prompt(CUT + 1), prompt(6, 9)
    method = methods.get("snapkv", window=8, kernel=3)
    session = engine.compress(random_llama, document, method, 0.4, store=store)
    full = engine.compress(random_llama, document, "full")
    told = metrics.attention_errors(session, full, fresh)
    kept = {
        index: [layer.prefix.positions(0, head) for head in range(2)]
        for index, layer in enumerate(session.cache.layers)
    }
    text = torch.cat([document, fresh])
    exact = dense_outputs(random_llama, text)
    alone = dense_outputs(random_llama, text, beside=kept)
    through = dense_outputs(random_llama, text, kept=kept)
    for index, o in exact.items():
        assert told.alone[index] == pytest.approx(
            ((alone[index] - o).norm() / o.norm()).item(), rel=1e-4
        )  # float32 in the model, float64 here
        assert told.through[index] == pytest.approx(
            ((through[index] - o).norm() / o.norm()).item(), rel=1e-4
        )
    assert told.alone[0] > 0.01 and told.alone[0] == pytest.approx(told.through[0].item())
    assert session.cache.get_seq_length() == full.cache.get_seq_length() == CUT


def test_nothing_evicted_is_no_error(random_llama):
    full = compressed(random_llama, "full", None)
    for error in metrics.attention_errors(compressed(random_llama, budget=1.0), full, prompt(4)):
        assert error.max() < 1e-6  # float32, the same sums


def test_other_prompts_are_refused(random_llama):
    full = compressed(random_llama, "full", None)
    session = compressed(random_llama)
    session.logits(prompt(3))
    with pytest.raises(ValueError, match="full: it has read other tokens"):
        metrics.attention_errors(session, full, prompt(3))
