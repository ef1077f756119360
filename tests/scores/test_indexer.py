"""CORE's student: its fourteen features in loops, its network, its file."""

import math

import pytest
import torch
from random_layers import attention, random_layer
from safetensors.torch import save_file

from kvteach.scores import coverage, fitted, indexer
from kvteach.scores.fitted import Fitted
from kvteach.scores.indexer import Indexer, features

COLUMN = {name: index for index, name in enumerate(indexer.FEATURES)}


def network(generator, depth=4):
    """Random weights of the shapes that the rule reads."""
    shapes = {"0": (128, 14), "2": (128, 128), "4": (1, 128)}
    return Fitted([
        {
            f"{name}.{part}": torch.randn(
                shape if part == "weight" else shape[:1], generator=generator
            ) * 0.2
            for name, shape in shapes.items() for part in ("weight", "bias")
        }
        for _ in range(depth)
    ])  # fmt: skip


def demand_in_loops(layer, window):
    """The six relations, float64, one key at a time."""
    p_hts = attention(layer)
    offset = layer.length - p_hts.shape[1]
    kv_heads = len(layer.keys_ksd)
    first, last = layer.last_row - window, layer.last_row
    floor = math.log(1e-8)
    said = {}  # (t, k) -> advantage of every key, None where t does not see it
    for t in range(first, last):
        a_hs = torch.logaddexp(
            p_hts[:, t - offset].log() + math.log(t + 1), torch.tensor(floor).double()
        )
        for k, group in enumerate(a_hs.chunk(kv_heads)):
            said[t, k] = group.sort(0, descending=True).values[:4].mean(0)
    columns = []
    for i in range(layer.length):
        rows = [t for t in range(first, last) if t >= i]
        pairs = [said[t, k][i] for t in rows for k in range(kv_heads)]
        recent = [said[t, k][i] for t in rows if t >= last - 16 for k in range(kv_heads)]
        if not rows:  # the floor, as of one row
            columns.append(torch.tensor([floor, floor, 0, floor, 0, 0]).double())
            continue
        pairs, recent = (torch.stack(x).sort(descending=True).values for x in (pairs, recent))
        positive = pairs[pairs > 0]
        quarter = math.ceil(len(rows) / 4)
        groups = [
            torch.stack([said[t, k][i] for t in rows]).sort(descending=True).values
            for k in range(kv_heads)
        ]
        columns.append(torch.stack([
            pairs[0],
            pairs[:4].mean(),
            positive.mean() if len(positive) else torch.tensor(0.0).double(),
            recent[:4].mean(),
            torch.tensor(
                sum(any(said[t, k][i] > 0 for k in range(kv_heads)) for t in rows)
                / window
            ).double(),
            torch.tensor(
                sum(float(g[:quarter].mean() > 0) for g in groups) / kv_heads
            ).double(),
        ]))  # fmt: skip
    return torch.stack(columns)


@pytest.mark.parametrize("heads, kv_heads", [(4, 4), (6, 2), (10, 2)])
@pytest.mark.parametrize("ranking, window", [(None, 24), (30, 18), (None, 5)])
def test_demand_is_the_definition_in_loops(generator, heads, kv_heads, ranking, window):
    layer = random_layer(generator, heads, kv_heads, ranking=ranking, size=3.0).layer
    ours = features(layer, window)[:, :6]
    # Logits near 10 in float32 are off by 1e-6; no advantage here is so near 0 that a
    # share would jump.
    torch.testing.assert_close(
        ours.double(), demand_in_loops(layer, window), rtol=1e-4, atol=1e-4
    )


def test_the_crowd_counts_those_of_the_nearest_direction(generator):
    layer = random_layer(generator).layer
    ours = features(layer, 8)
    z = coverage.representation(layer)
    x = z - z.mean(0)
    x = x / x.norm(dim=1, keepdim=True)
    prototypes, signs = indexer._directions(64, 0)
    torch.testing.assert_close(prototypes.norm(dim=1), torch.ones(64))
    assert set(signs.tolist()) == {-1.0, 1.0}
    cosine = x @ prototypes.T
    order = cosine.argsort(1, descending=True)
    best, second = (cosine.gather(1, order[:, i : i + 1])[:, 0] for i in (0, 1))
    crowd = torch.tensor([sum(int(o == mine) for o in order[:, 0]) for mine in order[:, 0]])
    torch.testing.assert_close(ours[:, COLUMN["occupancy"]], crowd.float().log1p())
    torch.testing.assert_close(ours[:, COLUMN["to prototype"]], 1 - best)
    torch.testing.assert_close(ours[:, COLUMN["margin"]], best - second)


def test_the_deviation_is_standardised_in_a_rotated_basis(generator):
    layer = random_layer(generator).layer
    z = coverage.representation(layer).double()
    signs = indexer._directions(64, 0)[1].double()
    two = torch.tensor([[1.0, 1], [1, -1]]).double()
    hadamard = torch.ones(1, 1).double()
    for _ in range(6):
        hadamard = torch.kron(hadamard, two)
    turned = (z * signs) @ hadamard.T / 8
    torch.testing.assert_close(turned.norm(dim=1), torch.ones(40).double())  # a rotation
    variance = turned.var(0, unbiased=False)
    shrunk = 0.9 * variance + 0.1 * variance.mean() + 1e-8
    expected = ((turned - turned.mean(0)).square() / shrunk).mean(1).log1p()
    ours = features(layer, 8)[:, COLUMN["deviation"]]
    torch.testing.assert_close(ours.double(), expected, rtol=1e-4, atol=1e-5)


def test_age_sink_value_and_phase(generator):
    layer = random_layer(generator).layer
    told = features(layer, 8)[:, 10:].double()
    age = torch.arange(39, -1, -1).double()
    values = layer.values_ksd.double().square().sum(-1) / 8
    torch.testing.assert_close(told[:, 0], age.log1p() / math.log(40), rtol=1e-5, atol=1e-6)
    assert told[:, 1].tolist() == [1.0] * 4 + [0.0] * 36
    torch.testing.assert_close(told[:, 2], values.log1p().mean(0), rtol=1e-5, atol=1e-6)
    assert (told[:, 3] == 0).all()


def test_a_layer_with_positions_is_decoding(generator):
    """After an eviction keys stand where they stood, and age goes by that."""
    layer = random_layer(generator, length=20).layer
    where = torch.tensor([0, 1, 5, 9, *range(84, 100)])
    later = layer.__class__(**{**layer.__dict__, "positions_ks": where.expand(2, -1)})
    told = features(later, 8)
    expected = (99.0 - where).log1p() / math.log(100)
    torch.testing.assert_close(told[:, 10], expected)
    assert told[:, 11].tolist() == [1.0, 1.0] + [0.0] * 18
    assert (told[:, 13] == 1).all()
    torch.testing.assert_close(told[:, :10], features(layer, 8)[:, :10])


def test_the_score_is_torchs_network(generator):
    weights = network(generator)
    layer = random_layer(generator).layer  # index 3
    sequence = torch.nn.Sequential(
        torch.nn.Linear(14, 128), torch.nn.GELU(), torch.nn.Linear(128, 128),
        torch.nn.GELU(), torch.nn.Linear(128, 1),
    )  # fmt: skip
    sequence.load_state_dict(weights.layers[3])
    score_ks = Indexer(weights, window=8)(layer)
    with torch.no_grad():
        expected = sequence.double()(features(layer, 8).double())[:, 0]
    assert score_ks.shape == (2, 40) and score_ks.isfinite().all()
    assert torch.equal(score_ks[0], score_ks[1])
    torch.testing.assert_close(score_ks[0].double(), expected, rtol=1e-4, atol=1e-4)
    score_ks[0] = 0
    assert score_ks[1].any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened_and_finite(generator, dtype):
    weights = network(generator)
    layer = random_layer(generator, dtype=dtype, size=1e4, rotary=0).layer
    names = ("queries_htd", "keys_ksd", "values_ksd")
    wide = {name: getattr(layer, name).float() for name in names}
    score_ks = Indexer(weights, window=8)(layer)
    assert score_ks.isfinite().all()
    assert torch.equal(score_ks, Indexer(weights, window=8)(
        layer.__class__(**{**layer.__dict__, **wide})))  # fmt: skip


def test_equal_keys_give_no_nan(generator):
    layer = random_layer(generator, rotary=0).layer
    for tensor in (layer.queries_htd, layer.keys_ksd, layer.values_ksd):
        tensor.fill_(1)
    assert features(layer, 8).isfinite().all()


def test_the_file_holds_the_memory_too(generator, tmp_path):
    weights = network(generator, 2)
    both = [
        {**{f"indexer.{n}": t for n, t in layer.items()}, "memory.phi": torch.ones(2, 3, 4)}
        for layer in weights.layers
    ]
    path = tmp_path / "core.safetensors"
    Fitted(both, {"seed": 7}).write(path)
    loaded = indexer.load(path)
    assert loaded.about == {"seed": 7}
    for ours, written in zip(loaded.layers, weights.layers):
        assert ours.keys() == written.keys()
        assert all(torch.equal(ours[n], t.half()) for n, t in written.items())
    assert fitted.read(path).layers[1]["memory.phi"].shape == (2, 3, 4)
    save_file({"layers.0.memory.phi": torch.ones(1)}, path)
    with pytest.raises(ValueError, match=r"layer 0 holds \{\}; need .*0.weight"):
        indexer.load(path)


def test_what_does_not_fit_is_refused(generator):
    layer = random_layer(generator).layer
    with pytest.raises(ValueError, match="trained for another model with 2 layers"):
        Indexer(network(generator, 2), window=8)(layer)
    with pytest.raises(ValueError, match="window: 0; need at least 1"):
        Indexer(window=0)
    with pytest.raises(ValueError, match="40 rows can rank, 128 are needed"):
        Indexer(network(generator))(layer)
