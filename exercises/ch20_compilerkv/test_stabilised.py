"""Checks of ch20/stabilised."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=1,
    title="One row, and a veto",
    difficulty=1,
    minutes=15,
    hints=(
        "There are three means or maxima here. Over which axes does each run, and "
        "which of the factors does the whole model share?",
        "alpha: mean over the first three axes, times T. rho: norms over the last "
        "axis, divided by their mean over T, with keepdim.",
        "(weight_lk[..., None] * alpha_t * rho_lkt).amax(1); torch.where guards the "
        "heads whose values are all zero.",
    ),
)

ROUNDING = 1e-12
"""Sums of some hundred float64 numbers of size 1."""


def draw(seed, layers=3, heads=4, kv_heads=2, window=5, length=9, dim=6):
    """Attention rows, values and weights."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    rows = normal(layers, heads, window, length).mul(2).softmax(-1)
    values = normal(layers, kv_heads, length, dim) * normal(kv_heads, 1, 1).exp()
    weight = 0.8 + 0.7 * torch.rand(
        layers, kv_heads, generator=generator, dtype=torch.float64
    )
    return rows, values, weight


def slow(rows, values, weight, reduce=max):
    """The definition in loops."""
    layers, heads, window, length = rows.shape
    result = torch.zeros(layers, length, dtype=torch.float64)
    norm = [[[v.square().sum().sqrt().item() for v in h] for h in l] for l in values]
    for t in range(length):
        column = rows[:, :, :, t].flatten().tolist()
        alpha = length * sum(column) / len(column)
        for l in range(layers):
            said = []
            for k in range(values.shape[1]):
                mean = sum(norm[l][k]) / length
                rho = norm[l][k][t] / mean if mean > 0 else 1.0
                said.append(weight[l, k].item() * alpha * rho)
            result[l, t] = reduce(said)
    return result


@check(points=2, likely="alpha is one row for all layers, and its mean over keys is 1.")
def test_alpha(answer):
    """All values alike: what is left is alpha"""
    for seed, length in ((201, 9), (202, 4)):
        rows, values, weight = draw(seed, length=length)
        values, weight = torch.ones_like(values), torch.ones_like(weight)
        want = slow(rows, values, weight)
        each = rows.mean((1, 2)) * length
        mistakes = {
            "alpha is not multiplied by T": want / length,
            "every layer has an alpha of its own": each,
            "the rows are added up": want * rows[..., 0].numel(),
        }
        got = answer.utility(rows, values, weight)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="divide a head's lengths by their mean over its keys.")
def test_rho_and_veto(answer):
    """Heads of different scales; the keenest decides"""
    for seed in (203, 204):
        rows, values, weight = draw(seed)
        want = slow(rows, values, weight)
        mistakes = {
            "heads are averaged": slow(rows, values, weight, lambda x: sum(x) / len(x)),
            "heads are added": slow(rows, values, weight, sum),
            "the most indifferent head decides": slow(rows, values, weight, min),
            "head weights are left out": slow(rows, values, torch.ones_like(weight)),
        }
        got = answer.utility(rows, values, weight)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=1, likely="0 / 0: a head without values can't tell its keys apart.")
def test_no_values(answer):
    """A head whose values are all zero"""
    rows, values, weight = draw(205)
    values[1, 0] = 0.0
    want = slow(rows, values, weight)
    got = answer.utility(rows, values, weight)
    expect_same(got, want, tolerance=ROUNDING)
