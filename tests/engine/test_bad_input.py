"""One clear error for each wrong argument, before the model is touched."""

import copy

import pytest
import torch
from engine_models import prompt, tiny
from transformers import AutoModelForCausalLM, DeepseekV3Config, MambaConfig, T5Config

from kvteach import engine, methods, models

TEXT = prompt(50)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"budget": 0.0}, r"budget: 0\.0; a share of the keys lies in \(0, 1\]"),
        ({"budget": 1.5}, r"budget: 1\.5"),
        ({"budget": 0}, "budget: 0 keys per head; need at least 1"),
        ({"budget": True}, "budget: True"),
        ({"budget": float("nan")}, "budget: nan"),
        ({"budget": None}, "budget: None"),
        ({"budget": "0.2"}, "budget: '0.2'"),
        ({"tokens": "words"}, "tokens: str; need ids"),
        ({"tokens": None}, "tokens: NoneType; need ids"),
        ({"budget": engine.Bytes(2e4)}, "need a whole number of bytes"),
        ({"budget": engine.Bytes(10)}, "one key per head takes 544 bytes"),
        ({"method": "snapkw"}, "method: 'snapkw'; there are full, "),
        ({"method": 3}, "method: 3; need a name"),
        ({"method": "snapkv"}, "50 rows can rank keys, but snapkv ranks by the last 64"),
        ({"tokens": TEXT[:0]}, "tokens: shape"),
        ({"tokens": torch.zeros(2, 3, 4, dtype=torch.long)}, "tokens: shape"),
        ({"tokens": TEXT.float()}, "tokens: dtype torch.float32; need integer ids"),
        ({"tokens": torch.tensor([1, 97])}, "leave the vocabulary, 0 .. 96"),
        ({"tokens": torch.tensor([1, -1])}, "leave the vocabulary"),
        ({"tokens": torch.ones(600, dtype=torch.long)}, "the model reads at most 512"),
        ({"question": TEXT[:0]}, "question: shape"),
        ({"condition": "before"}, "condition: 'before'; there are visible, document, after"),
        ({"condition": "after"}, "pass question"),
        ({"question": torch.ones(3, 4, dtype=torch.long)}, "question: 3 rows; need 1"),
        ({"attention_mask": torch.ones(49)}, "attention_mask: shape"),
        ({"attention_mask": torch.ones(50).index_fill(0, torch.tensor([49]), 0)}, "on the left"),
        ({"attention_mask": torch.ones(50).index_fill(0, torch.tensor([20]), 0)}, "on the left"),
        ({"store": "sparse"}, "store: 'sparse'; there are masked, padded, ragged"),
        ({"chunk": 0}, "chunk: 0"),
        ({"chunk": 2.5}, "chunk: 2.5"),
    ],
)
def test_one_clear_error(llama, arguments, said):
    called = []
    handle = llama.register_forward_pre_hook(lambda *_: called.append(1))
    base = llama.base_model.register_forward_pre_hook(lambda *_: called.append(1))
    try:
        chosen = {"tokens": TEXT, "method": "knorm", "budget": 0.5, **arguments}
        with pytest.raises(ValueError, match=said) as raised:
            engine.compress(llama, **chosen)
        assert "\n" not in str(raised.value)
    finally:
        handle.remove()
        base.remove()
    assert not called
    assert llama.config._attn_implementation == "sdpa"


def test_a_budget_below_what_must_stay(llama):
    with pytest.raises(ValueError, match="8"):
        engine.compress(llama, TEXT, methods.get("snapkv", window=8), 4)
    assert llama.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("options", [{"windows": 3}, {"alpha": 1}])
def test_unknown_parameters(options):
    with pytest.raises(ValueError, match="snapkv has no such parameter; it has"):
        methods.get("snapkv", **options)


def test_what_models_load_returns_is_told():
    loaded = models.Loaded(tiny("llama"), None, "tiny", "tiny")
    with pytest.raises(ValueError, match="pass its .model"):
        engine.compress(loaded, TEXT, "knorm", 0.5)


def test_what_a_tokenizer_returns_is_told(llama):
    from transformers import BatchEncoding

    with pytest.raises(ValueError, match="pass its .input_ids"):
        engine.compress(llama, BatchEncoding({"input_ids": TEXT}), "knorm", 0.5)


def test_a_model_in_training_mode():
    model = copy.deepcopy(tiny("llama")).train()
    with pytest.raises(ValueError, match="call model.eval"):
        engine.compress(model, TEXT, "knorm", 0.5)


def test_another_rotary_embedding_is_refused_by_the_rules_that_turn_it_back():
    from transformers import CohereConfig

    model = AutoModelForCausalLM.from_config(CohereConfig(
        **SMALL, num_attention_heads=4, intermediate_size=16)).eval()
    for name in ("expected", "compactor"):
        with pytest.raises(NotImplementedError, match="cohere models turn in another way"):
            engine.compress(model, TEXT, name, 0.5)
    engine.compress(model, TEXT, "knorm", 0.5)


def test_continuations_beyond_what_the_model_reads(llama):
    session = engine.compress(llama, prompt(500), "knorm", 0.5)
    with pytest.raises(ValueError, match="tokens: 520; the model reads at most 512"):
        session.logits(prompt(20))
    session.logits(prompt(12))


@pytest.mark.parametrize("ranking", [0, -1, 61, 2.5])
def test_rankings_of_a_reading(llama, ranking):
    with pytest.raises(ValueError, match=r"ranking: .*; need None or 1 \.\. 50"):
        engine.Reading(llama, TEXT).compress("knorm", 0.5, ranking=ranking)


def test_rules_that_cannot_be_hashed_can_be_compared(llama):
    class Listed:
        window, hidden, __hash__ = 0, False, None

        def __call__(self, layer):
            return layer.keys_ksd.float().sum(-1)

    method = methods.Method("listed", Listed(), methods.Uniform(), "padded")
    reading = engine.Reading(llama, TEXT)
    kept = [reading.compress(method, b).ledger.kept[0].tolist() for b in (10, 20)]
    assert kept == [[[9, 9]], [[19, 19]]]


def test_a_model_without_weights():
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(tiny("llama").config)
    with pytest.raises(ValueError, match="meta device"):
        engine.compress(model, TEXT, "knorm", 0.5)


def test_tokens_on_another_device_than_the_model(llama):
    with pytest.raises(ValueError, match="tokens: on meta, but the model is on cpu"):
        engine.compress(llama, TEXT.to("meta"), "knorm", 0.5)


@pytest.mark.parametrize("name", ["q_proj", "k_proj", "v_proj"])
def test_weights_that_are_not_finite(name):
    model = copy.deepcopy(tiny("llama"))
    with torch.no_grad():
        getattr(model.model.layers[2].self_attn, name).weight[0] = torch.nan
    with pytest.raises(ValueError, match="layer [23].* (not finite|NaN)"):
        engine.compress(model, TEXT, methods.get("snapkv", window=8), 0.5)
    assert model.config._attn_implementation == "sdpa"
    assert not any(m._forward_pre_hooks for m in model.modules())


SMALL = {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 2}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (MambaConfig(**SMALL, state_size=4), "MambaConfig describes no attention heads"),
        (DeepseekV3Config(
            **SMALL, num_attention_heads=4, num_key_value_heads=4, q_lora_rank=8,
            kv_lora_rank=8, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
            intermediate_size=16, moe_intermediate_size=8, n_routed_experts=4, n_group=1,
            topk_group=1, num_experts_per_tok=2), "latent attention"),
    ],
)
def test_unsupported_architectures(config, said):
    model = AutoModelForCausalLM.from_config(config)
    with pytest.raises(NotImplementedError, match=said) as raised:
        engine.compress(model, TEXT, "knorm", 0.5)
    assert "\n" not in str(raised.value)


def test_encoder_decoder_models():
    from transformers import AutoModelForSeq2SeqLM

    model = AutoModelForSeq2SeqLM.from_config(T5Config(
        vocab_size=97, d_model=32, d_kv=8, d_ff=16, num_layers=2, num_heads=4))
    with pytest.raises(NotImplementedError, match="encoder-decoder"):
        engine.compress(model, TEXT, "knorm", 0.5)


@pytest.mark.parametrize("tokens", [torch.tensor([1.5]), torch.ones(2, 2, 2).long(), [200], []])
def test_continuations_are_checked_before_anything_is_read(llama, tokens):
    session = engine.compress(llama, TEXT, "knorm", 0.5)
    for ask in (session.logits, session.generate):
        with pytest.raises(ValueError, match="tokens"):
            ask(tokens)
    assert session.tokens_bt.shape[1] == 50 and session.cache.get_seq_length() == 49
