"""StreamingLLM, KNorm and KeyDiff: rules that read no query."""

import pytest
import torch
from random_layers import SHAPES, close, random_layer

from kvteach.scores.keydiff import KeyDiff
from kvteach.scores.knorm import KNorm
from kvteach.scores.streaming import StreamingLLM


@pytest.mark.parametrize("budget", [4, 5, 17, 40])
def test_streaming_keeps_sinks_and_the_latest(generator, budget):
    layer = random_layer(generator).layer
    for score_s in StreamingLLM()(layer):
        kept = set(score_s.topk(budget).indices.tolist())
        assert kept == set(range(4)) | set(range(40 - budget + 4, 40))


def test_streaming_on_a_prompt_of_sinks(generator):
    layer = random_layer(generator, length=3).layer
    assert StreamingLLM()(layer).isposinf().all()
    with pytest.raises(ValueError, match="sinks: -1"):
        StreamingLLM(sinks=-1)


@pytest.mark.parametrize("heads, kv_heads", SHAPES)
def test_knorm(generator, heads, kv_heads):
    layer = random_layer(generator, heads, kv_heads).layer
    close(KNorm()(layer), -layer.keys_ksd.double().square().sum(-1).sqrt())


@pytest.mark.parametrize("heads, kv_heads", SHAPES)
def test_keydiff(generator, heads, kv_heads):
    layer = random_layer(generator, heads, kv_heads).layer
    keys = layer.keys_ksd.double()
    unit = keys / keys.norm(dim=-1, keepdim=True)
    anchor = unit.mean(1)
    cosine = torch.einsum("ksd,kd->ks", unit, anchor) / anchor.norm(dim=-1)[:, None]
    close(KeyDiff()(layer), -cosine)


def test_keydiff_of_a_zero_key(generator):
    layer = random_layer(generator).layer
    layer.keys_ksd[0, 7] = 0
    assert KeyDiff()(layer)[0, 7] == 0


def test_half_precision_does_not_tie_norms():
    """A float16 norm would round 2048.4 and 2048.6 to one number."""
    from kvteach.scores.layer import Layer

    keys = torch.zeros(1, 2, 2, dtype=torch.float16)
    keys[0, :, 0] = 2048
    keys[0, :, 1] = torch.tensor([40.0, 50.0])
    layer = Layer(0, keys, keys, keys, 1.0)
    near, far = KNorm()(layer)[0]
    assert far < near
