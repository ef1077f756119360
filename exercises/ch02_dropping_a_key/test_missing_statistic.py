"""Checks of ch02/missing_statistic."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="What a row needs back",
    difficulty=1,
    minutes=10,
    hints=(
        "Write the dense output as one sum over the kept and one over the evicted "
        "keys. Which of the two has the forced output inside it?",
        "The sum over the kept keys is p(A) times the forced output. How do you get "
        "p(A) from m?",
        "mu = (1 - m) * forced + u, with u the plain weighted sum over the evicted "
        "keys, divided by nothing; m needs a last axis to multiply a vector.",
    ),
)

ROUNDING = 1e-12
"""float64 sums of at most 40 terms of order 1 round to about 1e-15."""


def rows(seed, *shape, keys, dim):
    """Random rows with masks that neither keep nor evict everything."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(2 * torch.randn(*shape, keys, generator=generator).double(), -1)
    v = torch.randn(*shape, dim, keys, generator=generator).double().transpose(-1, -2)
    kept = torch.rand(*shape, keys, generator=generator) < 0.5
    kept[..., 1], kept[..., 2] = True, False
    return p, v, kept


def by_loops(p, v, kept):
    """u and m of one row, key by key."""
    u, m = torch.zeros_like(v[0]), torch.zeros((), dtype=torch.float64)
    for j in range(len(p)):
        if not kept[j]:
            u, m = u + p[j] * v[j], m + p[j]
    return u, m


@check(points=2, likely="u is a plain sum over the evicted keys, divided by nothing.")
def test_two_of_three(answer):
    """Two of three keys, by hand"""
    p = torch.tensor([0.45, 0.45, 0.10], dtype=torch.float64)
    v = torch.tensor([[-1.0], [1.0], [5.0]], dtype=torch.float64)
    for kept, u, m in (([1, 1, 0], 0.5, 0.10), ([1, 0, 1], 0.45, 0.45)):
        kept = torch.tensor(kept, dtype=torch.bool)
        want = torch.tensor([u], dtype=torch.float64), torch.tensor(
            m, dtype=torch.float64
        )
        mistakes = {
            "u is divided by m, which makes it a centroid": (want[0] / m, want[1]),
            "the sums run over the kept keys": (p @ v - want[0], 1 - want[1]),
        }
        got = answer.missing_statistic(p, v, kept)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts="um")


@check(points=1, likely="the rows are mixed up, or only the first one is right.")
def test_every_row_by_itself(answer):
    """A batch of rows that keep different keys, in tensors that are not contiguous"""
    p, v, kept = rows(203, 2, 3, keys=9, dim=5)
    each = [by_loops(p[b, t], v[b, t], kept[b, t]) for b in range(2) for t in range(3)]
    u, m = (torch.stack(x) for x in zip(*each))
    want = u.view(2, 3, 5), m.view(2, 3)
    got = answer.missing_statistic(p, v, kept)
    expect_same(got, want, tolerance=ROUNDING, parts="um")


@check(points=2, likely="the forced weights sum to 1: too large by 1 / (1 - m).")
def test_restore(answer):
    """The dense output comes back from the forced output, u and m"""
    p, v, kept = rows(204, 4, keys=12, dim=3)
    mass = (p * kept).sum(-1, keepdim=True)
    forced = torch.stack([(p * kept / mass)[b] @ v[b] for b in range(4)])
    u, m = (
        torch.stack(x) for x in zip(*(by_loops(p[b], v[b], kept[b]) for b in range(4)))
    )
    want = torch.stack([p[b] @ v[b] for b in range(4)])
    mistakes = {
        "u is added to the forced output as it stands": forced + u,
        "the two factors are swapped": m[:, None] * forced + u,
    }
    got = answer.restore(forced, u, m)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(
    points=1, likely="the statistic depends on which keys stay, not only on which go."
)
def test_statistics_add_up(answer):
    """Evicting in two steps leaves the sum of the two statistics"""
    p, v, _ = rows(205, keys=10, dim=3)
    first, second = torch.zeros(2, 10, dtype=torch.bool)
    first[[0, 4, 7]], second[[2, 9]] = True, True
    total = by_loops(p, v, ~(first | second))
    for evicted, other in ((first, second), (second, first)):
        u, m = by_loops(p, v, ~other)
        want = total[0] - u, total[1] - m
        got = answer.missing_statistic(p, v, ~evicted)
        expect_same(got, want, tolerance=ROUNDING, parts="um")
