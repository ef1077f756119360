"""Random models that the tests of maps share."""

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM


@pytest.fixture(scope="session")
def random_llama():
    """Two layers of 6 heads over 2, with weights that are not flat."""
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=50,
        hidden_size=48,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=12,
        initializer_range=0.2,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="session")
def save_reader(bundled):
    """save_reader(folder, layers): a random model that reads real tokens."""

    def save(folder, layers):
        torch.manual_seed(5)
        config = LlamaConfig(
            vocab_size=len(bundled.tokenizer),
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            initializer_range=0.2,
            max_position_embeddings=512,
        )
        LlamaForCausalLM(config).save_pretrained(folder)
        bundled.tokenizer.save_pretrained(folder)
        return folder

    return save
