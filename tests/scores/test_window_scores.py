"""SnapKV, TOVA and ChunkKV against sums written out."""

import pytest
import torch
from random_layers import SHAPES, attention, close, group_mean, random_layer

from kvteach.scores.chunkkv import ChunkKV
from kvteach.scores.knorm import KNorm
from kvteach.scores.snapkv import SnapKV
from kvteach.scores.tova import TOVA


def snapkv_written_out(layer, window, kernel, pooling):
    """The rule key by key, from float64 rows."""
    offset = layer.length - layer.queries_htd.shape[1]
    last = layer.last_row
    mean_hs = attention(layer)[:, last - window - offset : last - offset].mean(1)
    earlier = layer.length - window
    pooled_hs = torch.full_like(mean_hs, torch.inf)
    for key in range(earlier):
        reach = kernel // 2
        near = mean_hs[:, max(key - reach, 0) : min(key + reach + 1, earlier)]
        pooled_hs[:, key] = near.sum(1) / kernel if pooling == "mean" else near.amax(1)
    return group_mean(pooled_hs, layer)


@pytest.mark.parametrize("heads, kv_heads", SHAPES)
@pytest.mark.parametrize("pooling, kernel", [("mean", 5), ("max", 7), ("mean", 1)])
@pytest.mark.parametrize("ranking", [None, 31])
def test_snapkv(generator, heads, kv_heads, pooling, kernel, ranking):
    layer = random_layer(generator, heads, kv_heads, rows=25, ranking=ranking).layer
    ours = SnapKV(window=6, kernel=kernel, pooling=pooling)(layer)
    close(ours, snapkv_written_out(layer, 6, kernel, pooling))


def test_snapkv_reads_long_windows_in_tiles(generator):
    layer = random_layer(generator, length=300, dim=4, rotary=4).layer
    close(SnapKV(window=200)(layer), snapkv_written_out(layer, 200, 5, "mean"))


def test_snapkv_where_the_window_is_everything(generator):
    layer = random_layer(generator, length=6).layer
    assert SnapKV(window=6)(layer).isposinf().all()


def test_a_prompt_shorter_than_the_window_is_an_error(generator):
    layer = random_layer(generator, length=40).layer
    with pytest.raises(ValueError, match="40 rows can rank, 64 are needed"):
        SnapKV()(layer)


@pytest.mark.parametrize(
    "wrong", [{"window": 0}, {"kernel": 4}, {"kernel": 0}, {"pooling": "sum"}]
)
def test_snapkv_names_a_wrong_parameter(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        SnapKV(**wrong)


@pytest.mark.parametrize("heads, kv_heads", SHAPES)
@pytest.mark.parametrize("ranking", [None, 33])
def test_tova(generator, heads, kv_heads, ranking):
    layer = random_layer(generator, heads, kv_heads, rows=10, ranking=ranking).layer
    row = layer.last_row - 1 - 30
    expected_s = attention(layer)[:, row].mean(0)
    expected_s[-1] = torch.inf
    close(TOVA()(layer), expected_s.expand(kv_heads, -1))


@pytest.mark.parametrize("length", [40, 43, 59])
def test_chunkkv_is_one_mean_a_chunk(generator, length):
    layer = random_layer(generator, length=length).layer
    inner = KNorm()(layer).double()
    expected = torch.empty_like(inner)
    for start in range(0, length, 20):
        expected[:, start : start + 20] = inner[:, start : start + 20].mean()
    close(ChunkKV(KNorm())(layer), expected)


def test_chunkkv_keeps_what_must_stay(generator):
    layer = random_layer(generator, length=45).layer
    score = ChunkKV(SnapKV(window=6), length=10)(layer)
    assert score.isposinf().tolist() == [[False] * 30 + [True] * 15] * 2


def test_chunkkv_reads_what_its_inner_rule_reads():
    assert ChunkKV(SnapKV(window=9)).window == 9
    assert ChunkKV(KNorm()).window == 0
    assert ChunkKV(KNorm()).hidden is False
    with pytest.raises(ValueError, match="length"):
        ChunkKV(KNorm(), length=0)
