"""Checks of ch02/forced_output."""

import itertools

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="The output after keys are dropped",
    difficulty=1,
    minutes=10,
    hints=(
        "Run a softmax over two scores by hand, then delete one of them. "
        "What is the weight of the other?",
        "A mask multiplies: p * kept has a zero for each dropped key. What must "
        "its sum along the last axis become?",
        "Divide p * kept by its own sum, with keepdim=True, before you take the "
        "weighted mean of the values.",
    ),
)

ROUNDING = 1e-12
"""float64 sums of at most 40 terms of order 1 round to about 1e-15."""


def by_loops(p, v, kept):
    """The definition, one row and one key at a time."""
    out = torch.zeros(*p.shape[:-1], v.shape[-1], dtype=torch.float64)
    for row in itertools.product(*map(range, p.shape[:-1])):
        mass = sum(p[row][j] for j in range(p.shape[-1]) if kept[row][j])
        for j in range(p.shape[-1]):
            if kept[row][j]:
                out[row] += p[row][j] / mass * v[row][j]
    return out


@check(points=2, likely="the kept weights do not sum to 1 again before the mean.")
def test_two_of_three(answer):
    """Two of three keys, by hand."""
    p = torch.tensor([0.45, 0.45, 0.10], dtype=torch.float64)
    v = torch.tensor([[-1.0], [1.0], [5.0]], dtype=torch.float64)
    # {1, 3}: (-0.45 + 0.50) / 0.55 = 1/11 and {2, 3}: (0.45 + 0.50) / 0.55 = 19/11
    for kept, want in (([1, 1, 0], 0.0), ([1, 0, 1], 1 / 11), ([0, 1, 1], 19 / 11)):
        kept = torch.tensor(kept, dtype=torch.bool)
        mistakes = {
            "the kept weights are not renormalised": (p * kept) @ v,
            "the mask is used the wrong way round": v.T
            @ (p * ~kept)
            / (p * ~kept).sum(),
        }
        want = torch.tensor([want], dtype=torch.float64)
        got = answer.forced_output(p, v, kept)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="every row must be divided by the mass that it keeps itself.")
def test_every_row_by_itself(answer):
    """A batch of rows that keep different keys, in tensors that are not contiguous."""
    generator = torch.Generator().manual_seed(201)
    scores = torch.randn(3, 2, 11, generator=generator, dtype=torch.float64)
    p = torch.softmax(2 * scores, -1).transpose(0, 1)
    v = torch.randn(2, 3, 5, 11, generator=generator, dtype=torch.float64)
    v = v.transpose(-1, -2)
    kept = torch.rand(2, 3, 11, generator=generator) < 0.5
    kept[..., 4] = True
    want = by_loops(p, v, kept)
    expect_same(answer.forced_output(p, v, kept), want, tolerance=ROUNDING)


@check(points=1, likely="something is added to the mass; a small mass is no zero.")
def test_little_mass(answer):
    """The kept keys hold a billionth of the mass."""
    p = torch.tensor([1.0 - 3e-9, 2e-9, 1e-9], dtype=torch.float64)
    v = torch.tensor([[4.0, 0.0], [3.0, -3.0], [0.0, 6.0]], dtype=torch.float64)
    kept = torch.tensor([False, True, True])
    want = torch.tensor([2.0, 0.0], dtype=torch.float64)  # two thirds and one third
    expect_same(answer.forced_output(p, v, kept), want, tolerance=1e-9)


@check(points=1, likely="a row without mass divides by zero.")
def test_nothing_kept(answer):
    """One row of two keeps nothing: ValueError."""
    p = torch.full((2, 4), 0.25, dtype=torch.float64)
    v = torch.arange(8, dtype=torch.float64).reshape(2, 4, 1)
    kept = torch.tensor([[True, False, True, False], [False] * 4])
    expect_raises(answer.forced_output, p, v, kept, mentions="kept")
