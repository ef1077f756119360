"""ExpectedAttention against rotations written out, position by position."""

from dataclasses import replace

import pytest
import torch
from random_layers import SHAPES, close, group_mean, random_layer

from kvteach.scores.expected import ExpectedAttention, future_rotation


def rotation(position, frequencies, dim):
    """The matrix of rotary embedding at one position, float64."""
    matrix = torch.eye(dim, dtype=torch.float64)
    half = len(frequencies)
    for i, angle in enumerate(position * frequencies):
        matrix[i, i] = matrix[i + half, i + half] = angle.cos()
        matrix[i + half, i], matrix[i, i + half] = angle.sin(), -angle.sin()
    return matrix


def mean_rotation(made, future):
    length, dim = made.layer.length, made.layer.keys_ksd.shape[-1]
    matrices = [
        rotation(length + t, made.frequencies, dim) for t in range(future)
    ]
    return torch.stack(matrices).mean(0)


def written_out(made, sinks, future):
    layer = made.layer
    last = layer.length if layer.ranking is None else layer.ranking
    first = max(sinks, layer.length - layer.queries_htd.shape[1])
    turn = mean_rotation(made, future)
    expected_hs = torch.full((len(made.queries_hsd), layer.length), torch.inf).double()
    keys = layer.keys_ksd.double()[:, sinks:]
    for head, query_sd in enumerate(made.queries_hsd):
        before = query_sd[first:last]
        mean, cov = before.mean(0), torch.cov(before.T, correction=0)
        mean, cov = turn @ mean, turn @ cov @ turn.T
        logits = []
        for key in keys[head // layer.group_size]:
            quadratic = key @ cov @ key * layer.scaling**2 / 2
            logits.append(key @ mean * layer.scaling + quadratic)
        expected_hs[head, sinks:] = torch.stack(logits).softmax(0)
    return group_mean(expected_hs, layer) * layer.values_ksd.double().norm(dim=-1)


@pytest.mark.parametrize("heads, kv_heads", SHAPES)
@pytest.mark.parametrize("rotary", [0, 4, 8])
def test_scores(generator, heads, kv_heads, rotary):
    made = random_layer(generator, heads, kv_heads, rotary=rotary)
    close(ExpectedAttention(future=30)(made.layer), written_out(made, 4, 30))


@pytest.mark.parametrize("rows, ranking", [(40, 30), (20, None), (20, 33)])
def test_only_recorded_rows_that_may_rank(generator, rows, ranking):
    made = random_layer(generator, rows=rows, ranking=ranking)
    close(ExpectedAttention(future=30)(made.layer), written_out(made, 4, 30))


@pytest.mark.parametrize(
    "length, future", [(2, 7), (5, 512), (40, 39), (40, 40), (40, 41)]
)
def test_future_rotation(generator, length, future):
    """The tables reach ``length``; the positions after them follow by doubling.

    Table entries are float32: 1e-7 each, and ten doublings add up their errors.
    """
    made = random_layer(generator, length=length)
    ours = future_rotation(made.layer, future).double()
    torch.testing.assert_close(ours, mean_rotation(made, future), atol=2e-5, rtol=0)


def test_an_attention_factor_stays_in_the_queries(generator):
    """Tables 1.3 times as long make queries 1.3 times as long, then and later."""
    made = random_layer(generator)
    layer = made.layer
    longer = replace(
        layer,
        queries_htd=1.3 * layer.queries_htd,
        cos_sd=1.3 * layer.cos_sd,
        sin_sd=1.3 * layer.sin_sd,
        scaling=layer.scaling / 1.3,
    )
    close(ExpectedAttention()(longer), ExpectedAttention()(layer).double())


@pytest.mark.parametrize("length, ranking", [(3, None), (4, None), (20, 4)])
def test_sinks_alone_are_an_error(generator, length, ranking):
    layer = random_layer(generator, length=length, ranking=ranking).layer
    with pytest.raises(ValueError, match="sinks = 4"):
        ExpectedAttention()(layer)


def test_wrong_parameters_are_named():
    with pytest.raises(ValueError, match="sinks: -1"):
        ExpectedAttention(sinks=-1)
    with pytest.raises(ValueError, match="future: 0"):
        ExpectedAttention(future=0)
