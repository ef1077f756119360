"""Checks of ch02/factorization."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="Error is dropped mass times centroid gap",
    difficulty=2,
    minutes=15,
    hints=(
        "The dense output is itself a mean of two points. Which two, and with "
        "which weights?",
        "Compute the mean of the evicted values under weights that sum to 1 among "
        "the evicted, exactly as you do for the kept ones.",
        "mu = p(A) m_A + p(E) m_E, so mu - m_A = p(E) (m_E - m_A). Where p(E) is 0, "
        "torch.where chooses the gap without dividing 0 by 0.",
    ),
)

ROUNDING = 1e-12
"""float64 sums of at most 40 terms of order 1 round to about 1e-15."""
PARTS = "dropped mass", "centroid gap", "error"


def centroid(p, v, members):
    """Mean of the member values under their own renormalised weights."""
    mass = sum(p[j] for j in members)
    return sum((p[j] / mass * v[j] for j in members), torch.zeros_like(v[0]))


def by_loops(p, v, kept):
    """The three numbers of one row, the error from its definition."""
    kept_keys = [j for j in range(len(p)) if kept[j]]
    evicted = [j for j in range(len(p)) if not kept[j]]
    mu, m_kept = centroid(p, v, range(len(p))), centroid(p, v, kept_keys)
    mass = sum((p[j] for j in evicted), torch.zeros((), dtype=torch.float64))
    gap = (centroid(p, v, evicted) - m_kept).norm() if evicted else mass
    return mass, gap, (mu - m_kept).norm()


@check(
    points=2, likely="one of the two means is not under its own renormalised weights."
)
def test_two_of_three(answer):
    """Two of three keys, by hand"""
    p = torch.tensor([0.45, 0.45, 0.10], dtype=torch.float64)
    v = torch.tensor([[-1.0], [1.0], [5.0]], dtype=torch.float64)
    by_hand = (
        ([1, 1, 0], (0.10, 5.0, 1 / 2)),  # m_A = 0, m_E = 5
        ([1, 0, 1], (0.45, 10 / 11, 9 / 22)),  # m_A = 1/11, m_E = 1
        ([0, 1, 1], (0.45, 30 / 11, 27 / 22)),  # m_A = 19/11, m_E = -1
    )
    for kept, want in by_hand:
        want = tuple(torch.tensor(x, dtype=torch.float64) for x in want)
        mass, gap, error = want
        mistakes = {
            "the mass is that of the kept keys": (1 - mass, gap, (1 - mass) * gap),
            "the gap is taken from the dense output": (mass, error, mass * error),
        }
        kept = torch.tensor(kept, dtype=torch.bool)
        got = answer.factorization(p, v, kept)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(
    points=2, likely="the rows are mixed up, or the length is taken over a wrong axis."
)
def test_every_row_by_itself(answer):
    """A batch of rows that keep different keys, in tensors that are not contiguous"""
    generator = torch.Generator().manual_seed(202)
    scores = torch.randn(3, 2, 9, generator=generator, dtype=torch.float64)
    p = torch.softmax(2 * scores, -1).transpose(0, 1)
    v = torch.randn(2, 3, 7, 9, generator=generator, dtype=torch.float64)
    v = v.transpose(-1, -2)
    kept = torch.rand(2, 3, 9, generator=generator) < 0.5
    kept[..., 0], kept[..., 5] = True, False
    rows = [by_loops(p[b, t], v[b, t], kept[b, t]) for b in range(2) for t in range(3)]
    want = tuple(torch.stack([row[i] for row in rows]).view(2, 3) for i in range(3))
    expect_same(answer.factorization(p, v, kept), want, tolerance=ROUNDING, parts=PARTS)


@check(
    points=1, likely="the mean of no values was computed as 0 / 0 or left as it came."
)
def test_nothing_evicted(answer):
    """One row keeps everything: no mass, no gap, no error"""
    p = torch.tensor([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]], dtype=torch.float64)
    v = torch.tensor([[[1.0], [2.0], [4.0]]] * 2, dtype=torch.float64)
    kept = torch.tensor([[True, True, True], [True, False, True]])
    rows = [by_loops(p[b], v[b], kept[b]) for b in range(2)]
    want = tuple(torch.stack([row[i] for row in rows]) for i in range(3))
    expect_same(answer.factorization(p, v, kept), want, tolerance=ROUNDING, parts=PARTS)


@check(points=1, likely="the error follows the mass alone.")
def test_values_cancel(answer):
    """Most of the mass dropped, and no error at all"""
    p = torch.tensor([0.125, 0.25, 0.5, 0.125], dtype=torch.float64)
    v = torch.tensor(
        [[1.0, 1.0], [3.0, 2.0], [0.0, 0.5], [1.0, 1.0]], dtype=torch.float64
    )
    kept = torch.tensor([True, False, False, True])
    # m_A = (1, 1); m_E = (0.25 (3, 2) + 0.5 (0, 0.5)) / 0.75 = (1, 1)
    want = tuple(torch.tensor(x, dtype=torch.float64) for x in (0.75, 0.0, 0.0))
    expect_same(answer.factorization(p, v, kept), want, tolerance=ROUNDING, parts=PARTS)
