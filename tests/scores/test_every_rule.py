"""What every scoring rule promises to the engine."""

from dataclasses import replace

import pytest
import torch
from random_layers import SHAPES, random_layer

from kvteach.scores.chunkkv import ChunkKV
from kvteach.scores.compactor import Compactor
from kvteach.scores.coverage import Coverage
from kvteach.scores.expected import ExpectedAttention
from kvteach.scores.h2o import H2O
from kvteach.scores.keydiff import KeyDiff
from kvteach.scores.knorm import KNorm
from kvteach.scores.snapkv import SnapKV
from kvteach.scores.stabilised import Stabilised
from kvteach.scores.streaming import StreamingLLM
from kvteach.scores.tova import TOVA

RULES = [
    StreamingLLM(),
    KNorm(),
    KeyDiff(),
    TOVA(),
    SnapKV(window=6),
    SnapKV(window=5, kernel=7, pooling="max"),
    H2O(),
    H2O(recent=4),
    H2O(recent=0, per_row=True),
    ExpectedAttention(),
    Compactor(sketch=4, tile=16),
    ChunkKV(SnapKV(window=6), length=7),
    Coverage(window=6),
    Stabilised(window=6),
]
STAY = {"StreamingLLM": range(4), "TOVA": [39], "SnapKV": range(34, 40)}

every_rule = pytest.mark.parametrize("rule", RULES, ids=repr)


@every_rule
@pytest.mark.parametrize("heads, kv_heads", SHAPES)
def test_shape_dtype_and_no_nan(generator, rule, heads, kv_heads):
    layer = random_layer(generator, heads, kv_heads).layer
    score = rule(layer)
    assert score.shape == (kv_heads, 40) and score.dtype == torch.float32
    assert not score.isnan().any() and not score.isneginf().any()
    score[0, 0] = 7  # the caller may write into it, so rows share no memory
    assert torch.equal(rule(layer)[1:], score[1:])


@every_rule
@pytest.mark.parametrize("rotary", [0, 8])
def test_the_layer_is_left_as_it_was(generator, rule, rotary):
    layer = random_layer(generator, rotary=rotary).layer
    before = [t.clone() for t in (layer.queries_htd, layer.keys_ksd, layer.values_ksd)]
    rule(layer)
    after = (layer.queries_htd, layer.keys_ksd, layer.values_ksd)
    assert all(torch.equal(a, b) for a, b in zip(after, before))


@every_rule
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_does_not_overflow(generator, rule, dtype):
    """Keys of length 8e4 have no float16 norm, and logits of 1e6 no float16 number.

    The same numbers in float32 must give the same scores, bit for bit: rules widen
    before they compute. Only rotary tables in half precision come in differently.
    """
    layer = random_layer(generator, dtype=dtype, size=2e4, rotary=0).layer
    wide = replace(
        layer,
        queries_htd=layer.queries_htd.float(),
        keys_ksd=layer.keys_ksd.float(),
        values_ksd=layer.values_ksd.float(),
    )
    score = rule(layer)
    assert not score.isnan().any()
    assert torch.equal(score, rule(wide))


@every_rule
def test_rows_after_the_last_that_may_rank_are_not_read(generator, rule):
    layer = random_layer(generator, ranking=30).layer
    hidden_queries = layer.queries_htd.clone()
    hidden_queries[:, 30:] = torch.nan
    assert torch.equal(rule(replace(layer, queries_htd=hidden_queries)), rule(layer))


@every_rule
def test_constant_attention_keeps_the_protected_keys(generator, rule):
    """Equal keys tie; what must stay is +inf and nothing else is."""
    layer = random_layer(generator, rotary=0).layer
    layer.queries_htd.zero_()
    layer.keys_ksd.fill_(1)
    layer.values_ksd.fill_(1)
    score = rule(layer)
    assert not score.isnan().any()
    if type(rule).__name__ in STAY and getattr(rule, "window", 0) != 5:
        stay = torch.zeros(40, dtype=torch.bool)
        stay[list(STAY[type(rule).__name__])] = True
        assert torch.equal(score.isposinf(), stay.expand(2, -1))


@every_rule
def test_what_the_engine_reads(rule):
    assert rule.window is None or rule.window >= 0
    assert rule.hidden is False
    with pytest.raises(AttributeError):
        rule.window = 3  # frozen


@pytest.mark.parametrize("rule", [r for r in RULES if r.window is not None], ids=repr)
def test_no_rows_beyond_the_window_are_needed(generator, rule):
    """A rule with a window reads its last rows only."""
    layer = random_layer(generator).layer
    few = replace(layer, queries_htd=layer.queries_htd[:, 40 - rule.window :])
    assert torch.equal(rule(few), rule(layer))
