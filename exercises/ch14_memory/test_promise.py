"""Checks of ch14/promise."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=4,
    title="What four terms promise",
    difficulty=2,
    minutes=30,
    hints=(
        "Write the four distributions down, one below the other. Each term but the first "
        "belongs to a step from one line to the next.",
        "Total variation is half the sum of |changes| over all keys. Arriving is the sum "
        "of positive changes, over evicted keys only, without a half.",
        "The ceiling: largest minus smallest change of the logits in a step, over 4, then tanh.",
    ),
)

ROUNDING = 1e-12
"""Sums of a dozen weights, in float64."""
PARTS = "terms", "arriving"


def made(seed, keys=8, sharpness=1.5):
    generator = torch.Generator().manual_seed(seed)
    logits = sharpness * torch.randn(4, keys, generator=generator).double()
    evicted = torch.arange(keys) % 3 != 0
    return logits, evicted


def by_loops(logits, evicted):
    walk = [row.softmax(0).tolist() for row in logits]
    gone = [j for j, out in enumerate(evicted.tolist()) if out]
    first = sum(walk[0][j] for j in gone)
    moved, arriving = [first], [first]
    for one, other in zip(walk, walk[1:]):
        moved.append(sum(abs(b - a) for a, b in zip(one, other)) / 2)
        arriving.append(sum(max(other[j] - one[j], 0) for j in gone))
    return tuple(torch.tensor(x, dtype=torch.float64) for x in (moved, arriving))


def half(logits, evicted, rest):
    """Arriving with another rule for what counts in a step."""
    first = logits[0].softmax(0) @ evicted.double()
    change = logits.softmax(1).diff(dim=0)
    return torch.cat([first[None], rest(change)])


@check(points=4, likely="half of all absolute changes; and of increases only those on evicted keys.")
def test_terms(answer):
    """Four terms, and what of each arrives on evicted keys"""
    for seed, sharpness in ((1430, 1.5), (1431, 0.1), (1432, 6.0)):
        logits, evicted = made(seed, sharpness=sharpness)
        want = by_loops(logits, evicted)
        mistakes = {
            "total variation is not halved": (
                torch.cat([want[0][:1], 2 * want[0][1:]]), want[1]
            ),
            "the first term is the mass that is kept": tuple(
                torch.cat([1 - x[:1], x[1:]]) for x in want
            ),
            "increases on all keys count": (
                want[0], half(logits, evicted, lambda c: c.clamp_min(0).sum(1))
            ),
            "decreases are taken off": (
                want[0], half(logits, evicted, lambda c: c @ evicted.double())
            ),
            "all changes on evicted keys count": (
                want[0], half(logits, evicted, lambda c: c.abs() @ evicted.double())
            ),
        }
        got = answer.terms(logits, evicted)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=1, likely="no row has more than all its mass on the evicted keys.")
def test_bound(answer):
    """From terms to an error, with the mass cut at 1"""
    small = torch.tensor([0.1, 0.2, 0.05, 0.15], dtype=torch.float64)
    expect_same(answer.bound(small, 3.0), 1.5, tolerance=ROUNDING)
    large = torch.tensor([0.4, 0.5, 0.3, 0.6], dtype=torch.float64)
    mistakes = {
        "the mass is more than 1": 5.4, "the largest term counts": 1.8,
        "each term is cut": 5.4, "the gap is cut, too": 1.0,
    }
    expect_same(answer.bound(large, 3.0), 3.0, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="osc = max - min, so that a constant added to all logits costs nothing.")
def test_ceilings(answer):
    """Ceilings of the three steps; a constant added to a line changes none"""
    logits, _ = made(1433)
    logits = logits + torch.tensor([[0.0], [3.0], [-1.0], [7.0]])
    want = []
    for one, other in zip(logits.tolist(), logits.tolist()[1:]):
        change = [b - a for a, b in zip(one, other)]
        want.append(math.tanh((max(change) - min(change)) / 4))
    change = logits.diff(dim=0)
    spread = change.amax(1) - change.amin(1)
    mistakes = {
        "the largest absolute change is taken": (change.abs().amax(1) / 4).tanh(),
        "twice the largest change is taken": (change.abs().amax(1) / 2).tanh(),
        "it is tanh(osc / 2)": (spread / 2).tanh(),
        "it is osc / 4": spread / 4,
        "the four distributions' own spread counts": (
            ((logits.amax(1) - logits.amin(1)) / 4).tanh()[1:]
        ),
    }
    want = torch.tensor(want, dtype=torch.float64)
    expect_same(answer.ceilings(logits), want, tolerance=ROUNDING, mistakes=mistakes)
