"""Checks of ch01/kv_bytes."""

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=2,
    title="Bytes of a cache",
    difficulty=1,
    minutes=10,
    hints=(
        "Which tensors does one layer keep for one token? Count the numbers in them.",
        "Keys and values are kept once for each key-value head, whatever the number "
        "of query heads. In a config, a name may be there and hold None.",
        "2 * layers * kv_heads * head_dim * tokens * batch * bytes_per_element; "
        "config.get(name) or the default covers both missing and None.",
    ),
)

SMOLLM2 = dict(
    num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, hidden_size=576
)
QWEN3 = dict(  # 0.6B: 16 * 128 is not 1024
    num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=8,
    hidden_size=1024, head_dim=128,
)  # fmt: skip
GPT2_LIKE = dict(num_hidden_layers=12, num_attention_heads=12, hidden_size=768)


@check(points=2, likely="keys and values both count, for key-value heads only.")
def test_known_models(answer):
    """One token of SmolLM2-135M and of Llama-3.1-8B, in 2 bytes"""
    for sizes, want in (((30, 3, 64, 1), 23_040), ((32, 8, 128, 1), 131_072)):
        mistakes = {"keys are counted but not values": want // 2}
        expect_same(answer.kv_bytes(*sizes), want, mistakes=mistakes)


@check(points=1, likely="a factor is missing.")
def test_every_factor(answer):
    """Every argument counts once: batch and bytes per element, too"""
    want = 240_240  # 2 * 3 * 5 * 7 * 11 * 13 * 8
    mistakes = {"the batch is left out": want // 13, "elements take 2 bytes": want // 4}
    got = answer.kv_bytes(3, 5, 7, 11, batch=13, bytes_per_element=8)
    expect_same(got, want, mistakes=mistakes)
    expect_same(answer.kv_bytes(3, 5, 7, 0), 0)


@check(points=2, likely="a value in the configuration is ignored, or one is made up.")
def test_configurations(answer):
    """Configurations with and without num_key_value_heads and head_dim"""
    want = 28 * 8 * 128 * 2 * 2 * 100  # layers, heads, dim, both, bytes, tokens
    mistakes = {
        "head_dim is hidden_size / heads although it is given": want // 2,
        "query heads are counted": want * 2,
        "hidden_size is divided by the key-value heads": want * 3,
    }
    expect_same(answer.kv_bytes_of_config(QWEN3, 100), want, mistakes=mistakes)
    want = 30 * 3 * 64 * 2 * 2 * 100
    for config in (SMOLLM2, {**SMOLLM2, "head_dim": None}):
        expect_same(answer.kv_bytes_of_config(config, 100), want, mistakes=mistakes)
    want = 12 * 12 * 64 * 2 * 2 * 100
    for config in (GPT2_LIKE, {**GPT2_LIKE, "num_key_value_heads": None}):
        expect_same(answer.kv_bytes_of_config(config, 100), want)
    got = answer.kv_bytes_of_config(SMOLLM2, 100, batch=3, bytes_per_element=4)
    expect_same(got, 30 * 3 * 64 * 2 * 100 * 3 * 4)


@check(points=1, likely="counts that make no sense are not refused.")
def test_refusals(answer):
    """No layers, a negative length: ValueError"""
    expect_raises(answer.kv_bytes, 0, 3, 64, 10, mentions="layers")
    expect_raises(answer.kv_bytes, 30, 3, 64, -1, mentions="tokens")
    expect_raises(answer.kv_bytes, 30, 3, 64, 10, batch=0, mentions="batch")
