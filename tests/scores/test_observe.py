"""Layers of a real model, beside what `kvteach.capture` records and the engine sees."""

import pytest
import torch

from kvteach import capture
from kvteach.scores import observe
from kvteach.scores.expected import ExpectedAttention
from kvteach.scores.knorm import KNorm
from kvteach.scores.snapkv import SnapKV

CHOSEN = [0, 17]


@pytest.fixture(scope="module")
def seen(bundled, speech):
    return observe.layers(bundled.model, speech[:128], CHOSEN)


def test_the_chosen_layers_in_order(seen):
    assert [layer.index for layer in seen] == CHOSEN
    assert all(layer.module.layer_idx == layer.index for layer in seen)
    assert all(layer.hidden_td.shape == (128, 576) for layer in seen)


def test_states_are_those_that_capture_checks(bundled, speech, seen):
    """`capture` compares its rows with the model's own outputs."""
    taken = capture.rows(bundled.model, speech[:128], CHOSEN, positions=range(128))
    for layer in seen:
        rows = taken.layers[layer.index]
        assert torch.equal(layer.keys_ksd, rows.keys_ksd)
        assert torch.equal(layer.values_ksd, rows.values_ksd)
        ours = layer.weights(0, 128)
        for head in range(len(ours)):  # float32 logits of size 50: 3e-6 relative
            torch.testing.assert_close(
                ours[head].double(), rows.weights(head), atol=1e-5, rtol=0
            )


def test_a_prefix_is_the_shorter_text(bundled, speech, seen):
    """Sums over other tile sizes round otherwise: 1e-4 of states of size 10."""
    shorter = observe.layers(bundled.model, speech[:96], CHOSEN)
    for long, short in zip(seen, shorter, strict=True):
        cut = observe.prefix(long, 96)
        for name in ("queries_htd", "keys_ksd", "values_ksd", "hidden_td", "cos_sd"):
            ours, theirs = getattr(cut, name), getattr(short, name)
            torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=1e-3)
        for rule in (KNorm(), SnapKV(window=16), ExpectedAttention()):
            torch.testing.assert_close(rule(cut), rule(short), atol=1e-3, rtol=1e-3)


def test_the_model_is_left_as_it_was(bundled, speech):
    def look():
        hooks = sum(len(m._forward_pre_hooks) for m in bundled.model.modules())
        return bundled.model.config._attn_implementation, hooks

    before = look()
    with pytest.raises(IndexError):
        observe.layers(bundled.model, torch.tensor([10**6]))
    observe.layers(bundled.model, speech[:4], [3])
    assert look() == before


def test_wrong_arguments_are_named(bundled, speech, seen):
    for tokens in (speech[None], speech[:0]):
        with pytest.raises(ValueError, match="tokens: shape"):
            observe.layers(bundled.model, tokens)
    for chosen in ([30], [-1], []):
        with pytest.raises(ValueError, match=r"chosen: .*legal are 0 \.\. 29"):
            observe.layers(bundled.model, speech, chosen)
    for length in (0, 129):
        with pytest.raises(ValueError, match=f"length: {length}; legal are 1 .. 128"):
            observe.prefix(seen[0], length)


def test_a_sliding_window_is_named():
    from transformers import MistralConfig, MistralForCausalLM

    config = MistralConfig(
        vocab_size=40, hidden_size=16, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, sliding_window=8,
    )  # fmt: skip
    model = MistralForCausalLM(config).eval()
    assert len(observe.layers(model, torch.arange(8))) == 2
    with pytest.raises(NotImplementedError, match="layer 0 sees a sliding window of 8"):
        observe.layers(model, torch.arange(9))
