"""Captured rows against an independent computation of what the model did."""

import subprocess
import sys
import textwrap

import pytest
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

from kvteach import attention, capture

SHAPE = {
    "vocab_size": 50,
    "hidden_size": 48,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "pad_token_id": 0,
}


def tiny(config_class, **changes):
    torch.manual_seed(5)  # transformers initialises from the global generator
    implementation = changes.pop("attn_implementation", "sdpa")
    config = config_class(**{**SHAPE, **changes})
    return AutoModelForCausalLM.from_config(
        config, attn_implementation=implementation
    ).eval()


def eager_attentions(model, tokens, **inputs):
    """[layer] -> [H, T, S] weights by transformers' own eager attention."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        out = model(tokens[None], output_attentions=True, **inputs)
    model.set_attn_implementation("sdpa")
    return [attention[0].double() for attention in out.attentions]


FAMILIES = [LlamaConfig, Qwen2Config, Qwen3Config, MistralConfig, Olmo2Config, Gemma3TextConfig]


@pytest.mark.parametrize("config_class", FAMILIES, ids=lambda c: c.__name__)
def test_weights_are_those_of_eager_attention(config_class, generator):
    model = tiny(config_class)
    tokens = torch.randint(1, 50, (23,), generator=generator)
    expected = eager_attentions(model, tokens)
    taken = capture.rows(model, tokens, positions=[0, 7, 22])
    for layer, eager in zip(taken.layers.values(), expected, strict=True):
        for head in range(6):
            # float32 weights of the peer against float64 ones
            torch.testing.assert_close(
                layer.weights(head), eager[head, [0, 7, 22]], rtol=1e-4, atol=1e-6
            )


@pytest.mark.parametrize("config_class", [MistralConfig, Gemma3TextConfig])
def test_sliding_windows_hide_what_the_model_hides(config_class, generator):
    model = tiny(config_class, sliding_window=6, num_hidden_layers=6)
    tokens = torch.randint(1, 50, (20,), generator=generator)
    taken = capture.rows(model, tokens, positions=[19])
    sizes = [layer.row(0).p.shape[0] for layer in taken.layers.values()]
    eager = [int((a[0, 19] > 0).sum()) for a in eager_attentions(model, tokens)]
    assert sizes == eager and min(sizes) == 6
    assert taken.layers[0].row(3).p.sum().item() == pytest.approx(1, abs=1e-12)


def test_left_padding_is_in_no_row(generator):
    model = tiny(LlamaConfig)
    tokens = torch.randint(1, 50, (15,), generator=generator)
    padded = torch.cat([torch.zeros(4, dtype=torch.long), tokens])
    mask = (torch.arange(19) >= 4).long()
    plain = capture.rows(model, tokens, positions=[3, 14])
    shifted = capture.rows(model, padded, positions=[7, 18], attention_mask=mask)
    for a, b in zip(plain, shifted, strict=True):
        torch.testing.assert_close(a.p, b.p, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(a.output, b.output, rtol=1e-4, atol=1e-6)


def test_rows_of_the_bundled_model(bundled, speech):
    """Weights, values and outputs against hand-made attention in float64."""
    taken = capture.rows(bundled.model, speech, layers=[0, 17], positions=[500, 1023])
    attention = bundled.model.model.layers[17].self_attn
    heard = {}
    hook = attention.o_proj.register_forward_pre_hook(
        lambda module, args: heard.update(output=args[0])
    )
    with torch.no_grad():
        bundled.model.model(speech[None])
    hook.remove()
    for head in (0, 4, 8):
        row = taken.layers[17].row(head, 0)
        assert row.where == (17, head, 500) and row.p.shape == (501,)
        assert row.p.sum().item() == pytest.approx(1, abs=1e-12)
        expected = (row.q @ row.k.T / 8).softmax(-1)  # D = 64
        torch.testing.assert_close(row.p, expected, rtol=1e-9, atol=1e-15)
        used = heard["output"][0, 500, 64 * head : 64 * head + 64].double()
        # float32 sums of 501 values of length about 1
        torch.testing.assert_close(row.p @ row.v, used, rtol=0, atol=2e-5)
        shared = taken.layers[17].values_ksd[head // 3, :501].double()
        assert torch.equal(row.v, shared)


def test_chosen_heads_only(generator):
    model = tiny(LlamaConfig)
    tokens = torch.randint(1, 50, (9,), generator=generator)
    taken = capture.rows(model, tokens, layers=[1], heads=[5, 2], positions=[-1, 4])
    assert [row.where for row in taken] == [(1, h, i) for h in (2, 5) for i in (4, 8)]


def test_a_wrong_head_mapping_cannot_pass_unnoticed(monkeypatch, generator):
    monkeypatch.setattr(capture.LayerRows, "kv_head", lambda self, head: head % 2)
    with pytest.raises(RuntimeError, match="another output than the model's"):
        capture.rows(tiny(LlamaConfig), torch.randint(1, 50, (9,), generator=generator))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_models_are_captured_within_tolerance(dtype, generator):
    model = tiny(LlamaConfig).to(dtype)
    row = capture.rows(model, torch.randint(1, 50, (30,), generator=generator)).layers[1].row(5)
    assert row.p.dtype == torch.float64
    assert row.p.sum().item() == pytest.approx(1, abs=1e-12)


def test_provenance_says_what_was_run(bundled, speech):
    provenance = capture.rows(bundled.model, speech[:40], layers=[3]).provenance
    assert provenance["model"] == bundled.identity
    assert (provenance["tokens"], provenance["layers"]) == (40, [3])
    other = capture.rows(bundled.model, speech[1:41], layers=[3]).provenance
    assert provenance["tokens_sha256"] != other["tokens_sha256"]


def test_the_model_is_left_as_it_was_even_after_an_exception(generator):
    model = tiny(LlamaConfig)
    model.model.layers[1].mlp.forward = None
    with pytest.raises(TypeError):
        capture.rows(model, torch.randint(1, 50, (9,), generator=generator))
    assert model.config._attn_implementation == "sdpa"
    assert attention._attend.get() is None


def test_soft_capping_is_refused_by_name(generator):
    model = tiny(Gemma2Config, attn_implementation="eager")
    with pytest.raises(NotImplementedError, match="layer 0 uses soft-capped logits"):
        capture.rows(model, torch.randint(1, 50, (9,), generator=generator))
    assert model.config._attn_implementation == "eager"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tokens": torch.zeros(2, 9, dtype=torch.long)}, r"tokens: shape \(2, 9\)"),
        ({"tokens": torch.zeros(0, dtype=torch.long)}, "tokens"),
        ({"tokens": torch.ones(9)}, "tokens: dtype torch.float32"),
        ({"tokens": torch.full((9,), 50)}, "leave the vocabulary, 0 .. 49"),
        ({"tokens": torch.ones(2049).long()}, "2049; the model reads at most 2048"),
        ({"layers": [0.5]}, "layers: .*whole numbers"),
        ({"heads": [True]}, "heads: .*whole numbers"),
        ({"layers": [2]}, r"layers: \[2\] leaves the legal range 0 .. 1"),
        ({"heads": [6]}, "heads"),
        ({"positions": [9]}, "positions"),
        ({"positions": []}, "positions"),
        ({"attention_mask": torch.ones(8)}, "attention_mask: 8 entries, 9 tokens"),
        ({"attention_mask": torch.arange(9) > 2, "positions": [1]}, "are padding"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        capture.rows(tiny(LlamaConfig), **{"tokens": torch.ones(9).long(), **arguments})


def test_rows_that_were_not_recorded_are_named():
    layer = capture.rows(tiny(LlamaConfig), torch.ones(9).long(), layers=[0]).layers[0]
    for head, index, words in [(6, 0, "head: 6 is outside 0 .. 5"), (-1, 0, "head"), (0, 1, "1 pos")]:
        with pytest.raises(ValueError, match=words):
            layer.row(head, index)


def test_what_load_returns_is_not_taken_for_a_model(bundled, speech):
    with pytest.raises(ValueError, match="pass its .model"):
        capture.rows(bundled, speech)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ru_maxrss in KiB")
def test_4096_tokens_of_every_layer_fit_in_six_gib():
    code = """
        import resource
        from kvteach import capture, corpora, models
        loaded = models.load(device="cpu")
        text = corpora.documents("english")[120]
        taken = capture.rows(loaded.model, text.tokens(loaded.tokenizer, 4096),
                             positions=range(2048, 4096, 341))
        assert sum(1 for row in taken) == 30 * 9 * 7
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 6 * 2**20
