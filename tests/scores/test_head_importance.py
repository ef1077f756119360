"""Head importance: the definition on full matrices, prompts, files, and the shipped one."""

import json

import pytest
import torch
from scipy.stats import spearmanr
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig

from kvteach import corpora
from kvteach.scores import head_importance as heads
from kvteach.scores.head_importance import Needle

SHAPE = {
    "vocab_size": 50,
    "hidden_size": 36,
    "intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "initializer_range": 0.4,
}


def tiny(config_class=LlamaConfig, **changes):
    torch.manual_seed(5)
    config = config_class(**{**SHAPE, **changes})
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    return model.double().eval()


def answered(model, tokens, span, count):
    """A needle whose answer is what the model itself says."""
    for _ in range(count):
        with torch.no_grad():
            best = model(tokens[None]).logits[0, -1].argmax()
        tokens = torch.cat([tokens, best[None]])
    return Needle(tokens, span, count)


def by_loops(model, prompts):
    """The definition, from transformers' own eager attention."""
    raw = torch.zeros(3, 6).double()
    for prompt in prompts:
        model.set_attn_implementation("eager")
        with torch.no_grad():
            out = model(prompt.tokens[None], output_attentions=True)
        model.set_attn_implementation("sdpa")
        first, last = prompt.span
        size = last - first
        length = len(prompt.tokens)
        for layer in range(3):
            for head in range(6):
                for row in range(length - prompt.answer - 1, length - 1):
                    weights = out.attentions[layer][0, head, row]
                    top = weights.topk(size).indices.tolist()
                    share = sum(float(weights[j]) for j in top if first <= j < last)
                    raw[layer, head] += share / size / prompt.answer
    grouped = raw.view(3, 2, 3).mean(-1)
    return grouped / grouped.sum()


@pytest.mark.parametrize("changes", [{}, {"sliding_window": 9}], ids=["full", "sliding"])
def test_importance_is_its_definition(changes, generator):
    model = tiny(MistralConfig if changes else LlamaConfig, **changes)
    prompts = [
        answered(model, torch.randint(1, 50, (n,), generator=generator), (a, a + 6), count)
        for n, a, count in ((20, 13, 1), (31, 22, 3), (25, 16, 2))
    ]
    importance = heads.head_importance(model, prompts)
    assert importance.shape == (3, 2) and importance.dtype == torch.float32
    # The eager softmax rounds to float32 in a float64 model as well.
    torch.testing.assert_close(importance.double(), by_loops(model, prompts), rtol=2e-5, atol=1e-6)
    assert model.config._attn_implementation == "sdpa"


def test_only_answered_prompts_count(generator):
    model = tiny()
    good = answered(model, torch.randint(1, 50, (20,), generator=generator), (3, 9), 2)
    wrong = good.tokens.clone()
    wrong[-1] = (wrong[-1] + 1) % 50
    bad = Needle(wrong, (10, 16), 2)
    alone, both = heads.head_importance(model, [good]), heads.head_importance(model, [bad, good])
    assert torch.equal(alone, both)
    with pytest.raises(ValueError, match="answers none of the 1 correctly"):
        heads.head_importance(model, [bad])


def test_facts_beyond_every_window_are_refused(generator):
    model = tiny(MistralConfig, sliding_window=9)
    far = answered(model, torch.randint(1, 50, (30,), generator=generator), (3, 9), 1)
    with pytest.raises(ValueError, match="no head looks at the facts"):
        heads.head_importance(model, [far])


def test_prompts_hide_a_fact_and_end_with_it(bundled, generator):
    haystacks = [torch.full((100,), 12345)] * 12
    prompts = heads.needles(bundled.tokenizer, haystacks, generator, length=90)
    facts = set()
    for prompt in prompts:
        first, last = prompt.span
        fact = bundled.tokenizer.decode(prompt.tokens[first:last])
        end = bundled.tokenizer.decode(prompt.tokens[-(last - first) :])
        assert fact == end and fact.startswith("\n\n") and fact[-5:].isdigit()
        assert bundled.tokenizer.decode(prompt.tokens[-prompt.answer :]).strip() == fact[-5:]
        assert (prompt.tokens == 12345).sum() == 90
        facts.add(fact)
    assert len(facts) == 12
    again = heads.needles(bundled.tokenizer, haystacks, torch.Generator().manual_seed(20260830), 90)
    assert all(torch.equal(a.tokens, b.tokens) for a, b in zip(prompts, again))


def test_files_round_trip_and_refuse(tmp_path):
    path = tmp_path / "heads.json"
    importance = torch.tensor([[0.25, 0.5], [0.125, 0.125]])
    heads.write(path, importance, {"model": "tiny 1.0", "seed": 4})
    assert torch.equal(heads.load(path, (2, 2)), importance)
    assert json.loads(path.read_text())["about"]["seed"] == 4
    with pytest.raises(ValueError, match=r"measured on tiny 1.0 .*\[2, 2\]; need \[2, 3\]"):
        heads.load(path, (2, 3))
    for content in ("{", "[]", '{"importance": [[1, "a"]]}'):
        path.write_text(content)
        with pytest.raises(ValueError, match="holds no head importance"):
            heads.load(path)
    path.write_text('{"importance": [[1, -1]]}')
    with pytest.raises(ValueError, match="none below 0"):
        heads.load(path)


def test_the_shipped_importance_is_found_again(bundled):
    """Other facts in other texts point at the same heads."""
    shipped = heads.load(shape=(30, 3))
    assert float(shipped.sum()) == pytest.approx(1, abs=1e-4)
    # Few heads find facts: a tenth of them carries most of the importance.
    assert shipped.flatten().sort(descending=True).values[:9].sum() > 0.4
    texts = [d for d in corpora.documents("english") if d.name.startswith("193")][:4]
    haystacks = [text.tokens(bundled.tokenizer, 256) for text in texts]
    generator = torch.Generator().manual_seed(77)
    prompts = heads.needles(bundled.tokenizer, haystacks, generator, 256)
    measured = heads.head_importance(bundled.model, prompts)
    assert spearmanr(measured.flatten(), shipped.flatten()).statistic > 0.7
