"""Compactor: leverage by an explicit inverse, attention tile by tile."""

import pytest
import torch
from random_layers import SHAPES, close, group_mean, random_layer

from kvteach.scores.compactor import Compactor

RULE = Compactor(sketch=5, tile=7, first=3, last=2, seed=11)


def leverage_written_out(made, rule, begin, end):
    kv_heads, _, dim = made.keys_ksd.shape
    generator = torch.Generator().manual_seed(rule.seed + made.layer.index)
    gauss = torch.randn(kv_heads, dim, rule.sketch, generator=generator).double()
    out = torch.empty(kv_heads, end - begin, dtype=torch.float64)
    for head, key_sd in enumerate(made.keys_ksd[:, begin:end]):
        x = (key_sd - key_sd.mean(0)) @ gauss[head] / rule.sketch**0.5
        inverse = torch.linalg.inv(x.T @ x + 0.01 * torch.eye(rule.sketch))
        out[head] = (x @ inverse @ x.T).diagonal()
    return out


def surroundings_written_out(layer, rule, begin, end):
    queries, keys = layer.queries_htd.double(), layer.keys_ksd.double()
    mass = torch.zeros(len(queries), end - begin, dtype=torch.float64)
    for head in range(len(queries)):
        for row in range(begin, min(end, layer.last_row)):
            start = row - (row - begin) % rule.tile
            stop = min(start + rule.tile, end)
            logits = keys[head // layer.group_size, start:stop] @ queries[head, row]
            weights = (logits * layer.scaling).softmax(0)
            mass[head, start - begin : stop - begin] += weights
    lengths = layer.values_ksd[:, begin:end].double().norm(dim=-1)
    padded = torch.nn.functional.pad(group_mean(mass, layer) * lengths, (1, 1))
    return (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3


def standardised(x):
    return (x - x.mean()) / x.std()


@pytest.mark.parametrize("heads, kv_heads", SHAPES)
@pytest.mark.parametrize("rotary", [0, 4, 8])
@pytest.mark.parametrize("ranking", [None, 27])
def test_scores(generator, heads, kv_heads, rotary, ranking):
    made = random_layer(generator, heads, kv_heads, rotary=rotary, ranking=ranking)
    begin, end = 3, 38
    expected = torch.full((kv_heads, 40), torch.inf, dtype=torch.float64)
    expected[:, begin:end] = RULE.blend * standardised(
        leverage_written_out(made, RULE, begin, end)
    ) + standardised(surroundings_written_out(made.layer, RULE, begin, end))
    # A solve with a Gram matrix of condition 1e3 in float32.
    close(RULE(made.layer), expected, tolerance=1e-4)


def test_leverage_counts_dimensions(generator):
    """Leverages lie in [0, 1) and sum to the rank, less what the jitter takes."""
    layer = random_layer(generator, length=200).layer
    leverage = RULE.leverage(layer, 0, 200)
    assert (leverage >= 0).all() and (leverage < 1).all()
    rank = torch.full((2,), 5.0)
    torch.testing.assert_close(leverage.sum(1), rank, atol=1e-2, rtol=0)


def test_the_seed_decides_and_nothing_else(generator):
    layer = random_layer(generator).layer
    before = torch.get_rng_state()
    first, second = RULE(layer), RULE(layer)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, second)
    from dataclasses import replace

    assert not torch.equal(replace(RULE, seed=12)(layer), first)


@pytest.mark.parametrize("length", [1, 5])
def test_a_short_prompt_stays(generator, length):
    assert RULE(random_layer(generator, length=length).layer).isposinf().all()


@pytest.mark.parametrize("name", ["sketch", "tile", "first", "last"])
def test_wrong_parameters_are_named(name):
    with pytest.raises(ValueError, match=f"{name}: -1"):
        Compactor(**{name: -1})
