"""The byte formula against tensors that transformers really allocates."""

from types import SimpleNamespace

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    DeepseekV3Config,
    DynamicCache,
    Gemma3TextConfig,
    LlamaConfig,
    MistralConfig,
    Qwen3Config,
)

from kvteach import models
from kvteach.caches import account

SHAPE = {
    "vocab_size": 50,
    "hidden_size": 48,
    "intermediate_size": 32,
    "num_hidden_layers": 6,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 20,
    "pad_token_id": 0,
}


@pytest.mark.parametrize("config_class", [LlamaConfig, Qwen3Config, MistralConfig])
def test_formula_equals_storage(config_class, generator):
    config = config_class(**SHAPE)
    model = AutoModelForCausalLM.from_config(config).eval()
    cache = DynamicCache(config=config)
    models.read(model, torch.randint(1, 50, (13,), generator=generator), cache)
    # 2 tensors, 6 layers, 2 key-value heads, 20 numbers, 13 tokens, 4 bytes
    assert account.held_bytes(cache) == 2 * 6 * 2 * 20 * 13 * 4
    assert account.cache_bytes(config, tokens=13, itemsize=4) == 2 * 6 * 2 * 20 * 13 * 4


def test_sliding_layers_hold_their_window_only():
    config = Gemma3TextConfig(**SHAPE, sliding_window=8)
    sliding = sum("sliding" in kind for kind in config.layer_types)
    assert 0 < sliding < 6
    per_layer = 2 * 2 * 20 * 2
    expected = per_layer * (sliding * 8 + (6 - sliding) * 100)
    assert account.cache_bytes(config, tokens=100) == expected
    assert account.cache_bytes(config, tokens=5) == per_layer * 6 * 5


def test_a_window_without_layer_types_slides_everywhere(generator):
    config = MistralConfig(**SHAPE, sliding_window=8)
    model = AutoModelForCausalLM.from_config(config).eval()
    cache = DynamicCache(config=config)
    models.read(model, torch.randint(1, 50, (43,), generator=generator), cache)
    implied = account.cache_bytes(config, tokens=43, itemsize=4)
    assert implied == 2 * 6 * 2 * 20 * 8 * 4
    # transformers keeps one token less between steps, in a buffer of the whole prompt's
    assert sum(layer.keys.shape[-2] for layer in cache.layers) == 6 * 7


def test_a_configuration_inside_another_is_found():
    inner = SimpleNamespace(num_hidden_layers=2, num_attention_heads=4, hidden_size=32)
    outer = SimpleNamespace(get_text_config=lambda: inner)
    assert account.shape(outer) == (2, 4, 8)


def test_published_size_of_a_70b_model():
    """80 layers, 8 KV heads of 128, batch 8 at 128k: 343.6 GB (arXiv 2610.03135)."""
    config = SimpleNamespace(
        num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8, head_dim=128
    )
    held = account.cache_bytes(config, tokens=131_072, batch=8)
    assert round(held / 1e9, 1) == 343.6


def test_absent_fields_mean_what_transformers_means():
    plain = SimpleNamespace(num_hidden_layers=2, num_attention_heads=4, hidden_size=32)
    assert account.shape(plain) == (2, 4, 8)


def test_a_view_holds_the_buffer_behind_it_once():
    buffer = torch.zeros(2, 1, 3, 100, 8)
    layer = SimpleNamespace(keys=buffer[0][:, :, :5], values=buffer[1][:, :, :5])
    assert account.held_bytes(SimpleNamespace(layers=[layer, layer])) == buffer.nbytes


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(NotImplementedError, match="latent attention"):
        account.bytes_per_token(DeepseekV3Config())
    for change in ({"tokens": -1}, {"tokens": 1.5}, {"batch": -1}, {"itemsize": -2}):
        with pytest.raises(ValueError, match=f"{next(iter(change))}: .*whole number"):
            account.cache_bytes(LlamaConfig(**SHAPE), **{"tokens": 1, **change})
