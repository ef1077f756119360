"""The row statistics of the kernel and of its reference, against float64."""

import os

import pytest
import torch

from kvteach.kernels.row_statistics import row_statistics
from kvteach.rows import error, select

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
BACKENDS = ["torch"] + ["triton"] * INTERPRETED

# float32 sums of at most 300 weights and logits below 8: some dozens of 2**-24.
CLOSE = 1e-5

CASES = [
    # D, R, n, S, dtype, budgets, masked, softcap
    (64, 1, 1, 1, torch.float32, (1,), False, None),
    (64, 3, 5, 70, torch.float32, (16, 1, 7), True, 20.0),
    (128, 4, 3, 130, torch.float16, (4,), False, None),
    (128, 3, 7, 300, torch.float32, (1, 64), True, None),
    (64, 4, 4, 64, torch.float16, (5, 32), True, None),
    (64, 1, 0, 9, torch.float32, (3,), False, None),
]


def rows_of(dim, group, rows, length, dtype, generator):
    q, k, v = (
        torch.randn(heads, count, dim, generator=generator).to(dtype)
        for heads, count in ((2 * group, rows), (2, length), (2, length))
    )
    visible = torch.rand(rows, length, generator=generator) < 0.7
    visible[:, 0] = True
    return q, k, v, visible


def float64(q, k, visible, scaling, softcap):
    keys = k.double().repeat_interleave(len(q) // len(k), 0)
    logits = q.double() @ keys.transpose(1, 2) * scaling
    if softcap is not None:
        logits = softcap * (logits / softcap).tanh()
    if visible is not None:
        logits = logits.masked_fill(~visible, -torch.inf)
    return logits.softmax(-1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dim,group,rows,length,dtype,budgets,masked,softcap", CASES)
def test_all_statistics_are_those_of_float64(
    dim, group, rows, length, dtype, budgets, masked, softcap, backend, generator
):
    q, k, v, visible = rows_of(dim, group, rows, length, dtype, generator)
    visible = visible if masked else None
    scaling = dim**-0.5
    got = row_statistics(q, k, v, budgets, scaling, visible, softcap, backend)
    assert got.dropped_hnb.shape == (2 * group, rows, len(budgets))
    if not rows:
        return
    p = float64(q, k, visible, scaling, softcap)
    values = v.double().repeat_interleave(group, 0)[:, None].expand(-1, rows, -1, -1)
    assert (got.output_hnd - error.dense_output(p, values)).abs().max() < CLOSE
    for at, budget in enumerate(budgets):
        kept = select.top_mass(p, budget)
        for have, want in (
            (got.dropped_hnb[..., at], error.dropped_mass(p, kept)),
            (got.missing_hnbd[..., at, :], error.missing_statistic(p, values, kept)),
            (got.phi_hnb[..., at], error.phi(p, values, kept)),
        ):
            assert (have - want).abs().max() < CLOSE
    # Keys come by falling weight, each once, and none of them is hidden.
    order = got.top_hns
    weights = p.gather(-1, order.clamp_min(0)).where(order >= 0, 0)
    assert (weights.diff(dim=-1) < 1e-7).all()
    assert (weights.sum(-1) - p.topk(max(budgets)).values.sum(-1)).abs().max() < CLOSE


@pytest.mark.parametrize("backend", BACKENDS)
def test_ties_go_to_the_earlier_key_across_tiles(backend):
    q, k = torch.ones(1, 1, 64), torch.zeros(1, 150, 64)
    k[:, [20, 140]] = 1.0  # equal weights in two tiles; all others are equal too
    got = row_statistics(q, k, torch.randn(1, 150, 64), (4,), 0.1, backend=backend)
    assert got.top_hns.tolist() == [[[20, 140, 0, 1]]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_row_that_sees_fewer_keys_than_its_budget_drops_nothing(backend, generator):
    q, k, v, _ = rows_of(64, 1, 1, 70, torch.float32, generator)
    visible = torch.zeros(1, 70, dtype=torch.bool)
    visible[0, [3, 69]] = True
    got = row_statistics(q, k, v, (4,), 0.125, visible, backend=backend)
    assert got.dropped_hnb.abs().max() < 1e-6
    assert got.missing_hnbd.abs().max() < CLOSE
    assert (got.top_hns[..., 2:] == -1).all()
    assert got.top_hns[0, 0, :2].sort().values.tolist() == [3, 69]


@pytest.mark.parametrize("backend", BACKENDS)
def test_logits_that_overflow_an_exponential(backend):
    """A wrong running maximum gives inf or nan here: logits of 100 and more."""
    q, k = torch.full((1, 1, 64), 4.0), torch.zeros(1, 130, 64)
    k[0, 129], k[0, 5] = 4.0, 3.9
    v = torch.arange(130.0)[None, :, None].expand(1, 130, 64).contiguous()
    got = row_statistics(q, k, v, (1,), 1.0, backend=backend)
    other = torch.tensor(-(1024 - 998.4), dtype=torch.float64).exp()
    assert (got.dropped_hnb.squeeze() - other / (1 + other)).abs() < 1e-6
    assert got.top_hns.item() == 129


@pytest.mark.parametrize("budgets", [(), (0,), (10,)])
def test_budgets_out_of_range_are_refused(budgets):
    x = torch.zeros(1, 9, 64)
    with pytest.raises(ValueError, match="budgets"):
        row_statistics(x, x, x, budgets, 1.0)


def test_a_row_that_sees_no_key_is_refused():
    x = torch.zeros(1, 9, 64)
    with pytest.raises(ValueError, match="visible_ns"):
        row_statistics(x, x, x, (1,), 1.0, torch.zeros(9, 9, dtype=torch.bool))
