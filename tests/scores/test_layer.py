"""What rules may look at: weights, rows, states turned back."""

import pytest
import torch
from random_layers import SHAPES, attention, random_layer

from kvteach.scores.layer import over_groups


@pytest.mark.parametrize("heads, kv_heads", SHAPES)
@pytest.mark.parametrize("softcap", [None, 2.0])
def test_weights_are_softmax_rows(generator, heads, kv_heads, softcap):
    layer = random_layer(generator, heads, kv_heads, rows=25, softcap=softcap).layer
    ours = layer.weights(15, 40)
    # float32 logits of size 5 are off by 1e-6.
    torch.testing.assert_close(ours.double(), attention(layer), atol=3e-6, rtol=0)


def test_tiles_are_the_rows_that_may_rank(generator):
    layer = random_layer(generator, rows=30, ranking=33).layer
    tiles = list(layer.tiles(12, size=5))
    assert [(first, last) for first, last, _ in tiles] == [(21, 26), (26, 31), (31, 33)]
    together = torch.cat([weights for _, _, weights in tiles], 1)
    expected = attention(layer)[:, 11:23]
    torch.testing.assert_close(together.double(), expected, atol=3e-6, rtol=0)


@pytest.mark.parametrize("rows, ranking, count", [(8, None, 9), (8, 34, 3), (8, 30, 1)])
def test_too_few_rows_are_an_error(generator, rows, ranking, count):
    layer = random_layer(generator, rows=rows, ranking=ranking).layer
    message = rf"layer 3: \d rows can rank, {count} are needed"
    with pytest.raises(ValueError, match=message):
        layer.rows(count)


@pytest.mark.parametrize("rotary", [0, 4, 8])
def test_unrotated_undoes_the_rotation(generator, rotary):
    made = random_layer(generator, rotary=rotary, rows=10)
    queries = made.layer.unrotated(made.layer.queries_htd).double()
    keys = made.layer.unrotated(made.layer.keys_ksd[:, 5:20], 5).double()
    # Two float32 products and a sum of numbers below 5.
    torch.testing.assert_close(queries, made.queries_hsd[:, 30:], atol=2e-6, rtol=0)
    torch.testing.assert_close(keys, made.keys_ksd[:, 5:20], atol=2e-6, rtol=0)


def test_unrotated_knows_tables_with_a_factor(generator):
    from dataclasses import replace

    made = random_layer(generator)
    layer = made.layer
    scaled = replace(layer, cos_sd=1.3 * layer.cos_sd, sin_sd=1.3 * layer.sin_sd)
    back = scaled.unrotated(1.3 * layer.keys_ksd).double()
    torch.testing.assert_close(back, made.keys_ksd, atol=2e-6, rtol=0)


@pytest.mark.parametrize("rotary", [0, 4, 8])
def test_unrotated_shares_no_memory(generator, rotary):
    layer = random_layer(generator, rotary=rotary).layer
    before = layer.queries_htd.clone()
    layer.unrotated(layer.queries_htd).zero_()
    assert torch.equal(layer.queries_htd, before)


def test_over_groups():
    score_hs = torch.tensor([[0.0, 1], [2, 3], [4, 9], [6, 5]])
    assert over_groups(score_hs, 2).tolist() == [[1, 2], [5, 7]]
    assert over_groups(score_hs, 2, "max").tolist() == [[2, 3], [6, 9]]
