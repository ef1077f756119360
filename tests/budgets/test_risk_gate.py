"""CompilerKV's utility, its tables, and what its budget keeps."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.budgets import tables as tabled
from kvteach.budgets.risk_gate import RiskGate, completed, elastic
from kvteach.budgets.tables import Tables, risk_bins
from kvteach.rows.utility import alpha, rho, spread, veto


def random_rows(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(*shape, generator=generator)).softmax(-1)


def some_tables(layers=3, kv_heads=2, heads=1.0, gate=-math.inf):
    """Constant tables for two budgets, 2 x 2 risks."""
    return Tables(
        torch.full((2, layers, kv_heads), heads),
        torch.full((2, layers, 2, 2), gate),
        torch.tensor([2.0]), torch.tensor([5.0]), (0.5, 0.125), window=4,
        about={"model": "tiny @ 1"},
    )


# --- utility --------------------------------------------------------------------


def test_published_example():
    """The example of the authors' tests: alpha (.75, 1.5, .75), scores by the veto."""
    rows = torch.tensor([[0.25, 0.5, 0.25]])
    assert alpha(rows).tolist() == [0.75, 1.5, 0.75]
    values = torch.tensor([[[1.0], [1], [1]], [[1.0], [2], [3]]])  # lengths 1 and 1, 2, 3
    assert rho(values).tolist() == [[1, 1, 1], [0.5, 1, 1.5]]
    scores = veto(alpha(rows) * rho(values), torch.tensor([1, 1.5]))
    assert scores.tolist() == pytest.approx([0.75, 2.25, 1.6875])


@given(st.integers(0, 2**31), st.integers(1, 40))
def test_alpha_and_rho_have_mean_one(seed, length):
    assert alpha(random_rows(seed, 4, 3, length)).mean() == pytest.approx(1, abs=1e-6)
    values = torch.randn(2, length, 5, generator=torch.Generator().manual_seed(seed))
    assert rho(values).mean(-1).tolist() == pytest.approx([1, 1])
    assert torch.allclose(rho(7 * values), rho(values))  # no head wins by long values


def test_values_of_length_zero_tell_nothing():
    assert rho(torch.zeros(1, 3, 2)).tolist() == [[1, 1, 1]]


def test_spread_is_the_entropy():
    assert spread(alpha(torch.full((1, 8), 1 / 8))) == pytest.approx(math.log(8))
    assert spread(torch.tensor([8.0, 0, 0])) == 0
    p = random_rows(3, 20).double()
    assert spread(20 * p) == pytest.approx(-(p * p.log()).sum().item())


def test_rows_without_keys_are_refused():
    with pytest.raises(ValueError, match="rows: shape"):
        alpha(torch.zeros(2, 0))


# --- elastic selection -----------------------------------------------------------


@given(st.integers(0, 2**31), st.integers(1, 12), st.floats(-0.5, 3))
def test_elastic_selection(seed, count, threshold):
    utility = torch.rand(12, generator=torch.Generator().manual_seed(seed)).double() * 2
    kept = elastic(utility, threshold, count)
    assert kept[-1] and 1 <= kept.sum() <= count
    reach = [i for i in range(11) if utility[i] >= threshold]
    best = sorted(reach, key=lambda i: -utility[i])[: count - 1]
    assert kept[:-1].nonzero()[:, 0].tolist() == sorted(best)


# --- tables -------------------------------------------------------------------------


def test_bins_put_an_edge_to_the_right():
    edges = torch.tensor([1.0, 2.0])
    assert [int(risk_bins(x, edges)) for x in (0.5, 1, 1.5, 2, 9)] == [0, 1, 1, 2, 2]


def test_look_up_takes_the_nearest_budget_and_the_bins():
    tables = some_tables()
    tables.head_blk[1] = 9
    tables.gate_blep[0, :, 1, 0] = 0.9
    assert (tables.weights(0.26) == 1).all() and (tables.weights(0.24) == 9).all()
    assert tables.thresholds(1.0, 2.0, 4.9).tolist() == pytest.approx([0.9] * 3)
    assert (tables.thresholds(0.5, 1.9, 4.9) == -math.inf).all()


def test_files_keep_everything(tmp_path):
    tables = some_tables()
    tables.write(tmp_path / "t.safetensors")
    read = tabled.load(tmp_path / "t.safetensors", model="tiny @ 1")
    for name in ("head_blk", "gate_blep", "entropy_edges", "perplexity_edges"):
        assert torch.equal(getattr(read, name), getattr(tables, name))
    assert (read.budgets, read.window, read.about) == ((0.5, 0.125), 4, tables.about)
    with pytest.raises(ValueError, match="compiled for tiny @ 1, not for other"):
        tabled.load(tmp_path / "t.safetensors", model="other")
    (tmp_path / "no.safetensors").write_bytes(b"no")
    with pytest.raises(ValueError, match="holds no tables"):
        tabled.load(tmp_path / "no.safetensors")


def test_transfer_is_linear_in_relative_depth():
    tables = some_tables(layers=3, kv_heads=1)
    tables.head_blk[0, :, 0] = torch.tensor([1.0, 2.0, 4.0])
    moved = tables.transferred(5, 2)
    assert moved.weights(0.5)[:, 0].tolist() == [1, 1.5, 2, 3, 4]
    assert torch.equal(moved.weights(0.5)[:, 0], moved.weights(0.5)[:, 1])
    assert tables.transferred(3, 1).head_blk.equal(tables.head_blk)
    assert tables.transferred(1, 1).weights(0.5).tolist() == [[1.0]]
    assert moved.about["transferred"] == [5, 2]


# --- the budget ------------------------------------------------------------------------


def asked(rule, seed=0, layers=3, kv_heads=2, length=24, count=6, loss=None):
    """What the rule keeps of random layers, and the rows and values it was asked about."""
    rows = random_rows(seed, layers, kv_heads, length)
    generator = torch.Generator().manual_seed(seed + 1)
    values = torch.randn(layers, kv_heads, length, 4, generator=generator)
    scores = [row.clone() for row in rows]
    for score in scores:
        score[:, -1] = torch.inf
    kept = rule(scores, count, list(range(layers)), layers, list(values), loss)
    return torch.stack(kept), rows, values


def test_last_weight_is_what_the_others_leave():
    rows = random_rows(5, 2, 9)
    forced = rows.clone()
    forced[:, -1] = torch.inf
    # float32 sums of nine numbers
    assert torch.allclose(completed(forced), rows, atol=1e-6)
    assert torch.equal(completed(rows), rows)


@given(st.integers(0, 10**6))
def test_without_tables_it_is_the_top_of_the_utility(seed):
    kept, rows, values = asked(RiskGate(), seed)
    a = rows.double().mean((0, 1)) * 24
    norm = values.double().norm(dim=-1)
    u = (a * norm / norm.mean(-1, keepdim=True)).amax(1)
    u[:, -1] = torch.inf
    assert torch.equal(kept[:, 0], kept[:, 1])  # one set for all heads of a layer
    for layer in range(3):
        best = u[layer].argsort(descending=True)[:6].sort().values
        assert kept[layer, 0].nonzero()[:, 0].tolist() == best.tolist()


@given(st.integers(0, 10**6), st.floats(0, 3), st.integers(1, 30))
def test_never_more_than_the_budget_and_never_nothing(seed, gate, count):
    rule = RiskGate(some_tables(gate=gate))
    kept, *_ = asked(rule, seed, count=count, loss=torch.tensor([1.0]))
    counts = kept[:, 0].sum(-1)
    assert (counts <= count).all() and kept[..., -1].all()


def test_a_head_can_veto():
    """Key 3 matters to head 1 of the table's choice only: its weight saves it."""
    rows = torch.full((1, 2, 8), 1 / 8)
    values = torch.ones(1, 2, 8, 1)
    values[0, 1, 3] = 1.5
    values[0, 0, :3] = 2
    scores = [rows[0].clone()]
    scores[0][:, -1] = torch.inf
    tables = some_tables(layers=1)

    def kept():
        rule = RiskGate(tables, gate=False)
        return rule(scores, 2, [0], 1, list(values))[0][0].nonzero()[:, 0].tolist()

    assert kept() == [0, 7]
    tables.head_blk[:, 0] = torch.tensor([0.8, 1.5])
    assert kept() == [3, 7]


def test_the_gate_reads_entropy_and_perplexity():
    tables = some_tables()
    low, high = torch.tensor([math.log(4)]), torch.tensor([math.log(6)])
    rule = RiskGate(tables)
    kept, rows, _ = asked(rule, loss=low)
    band = int(risk_bins(float(spread(alpha(rows))), tables.entropy_edges))
    tables.gate_blep[:, :, band, 1] = 1e9
    assert torch.equal(asked(rule, loss=low)[0], kept)
    assert asked(rule, loss=high)[0].sum(-1).eq(1).all()
    assert torch.equal(asked(RiskGate(tables, gate=False))[0], kept)


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="compiled for tiny @ 1 with 3 layers and 2 KV"):
        asked(RiskGate(some_tables()), layers=4, loss=torch.tensor([1.0]))
    with pytest.raises(ValueError, match="loss_t: None"):
        asked(RiskGate(some_tables()))
    assert RiskGate(some_tables()).reads_loss == 4
    assert RiskGate(some_tables(), gate=False).reads_loss == RiskGate().reads_loss == 0
