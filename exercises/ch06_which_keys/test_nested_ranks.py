"""Checks of ch06/nested_ranks."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=6,
    title="One ranking for all budgets",
    difficulty=3,
    minutes=35,
    hints=(
        "Five keys have the masses 5, 1, 1, 1, 9. Write down the sets for budgets 1 to 5. "
        "Which key is new in each?",
        "Odd budgets bring the next heaviest key. Even ones bring the next latest, unless "
        "it is there already for its mass: then they bring the next heaviest as well.",
        "One iterator over the stable descending argsort; for budget n even, key = S - n "
        "// 2; if it has entered, or n is odd, next(k for k in iterator if not entered).",
    ),
)


def sets(mass):
    """The definition, budget by budget: the set at each n = 0 .. S."""
    length = len(mass)
    found = []
    for n in range(length + 1):
        recent = range(length - n // 2, length)
        early = sorted(range(length - n // 2), key=lambda j: (-mass[j], j))
        found.append({*recent, *early[: n - n // 2]})
    return found


def entries(mass):
    """The budget at which each key is first in the set."""
    found = sets(mass)
    return [next(n for n, kept in enumerate(found) if j in kept) for j in range(len(mass))]


def masses(seed, length, levels=1000, late=0):
    """Random masses; ``late`` makes the last keys the heaviest."""
    generator = torch.Generator().manual_seed(seed)
    mass = torch.randint(levels, (length,), generator=generator).double()
    mass[length - late :] += 2 * levels
    return mass


@check(points=2, likely="odd budgets bring a heavy key, even ones a recent key.")
def test_few_keys(answer):
    """Five keys by hand, one key, and texts whose latest keys are light"""
    mass = torch.tensor([5.0, 1, 1, 1, 9], dtype=torch.float64)
    # Sets {4}, {4, 0}, {4, 0, 1}, {4, 3, 0, 1}, all: key 4 is heavy and recent.
    want = torch.tensor([2, 3, 5, 4, 1])
    expect_same(answer.entry_budgets(mass), want)
    expect_same(answer.entry_budgets(mass[:1]), torch.tensor([1]), name="of one key")
    mass = masses(661, 24)
    mass[12:] = -torch.arange(12, dtype=torch.float64)
    want = torch.tensor(entries(mass.tolist()))
    heavy = mass.argsort(descending=True, stable=True).argsort() + 1
    mistakes = {
        "recency is left out": heavy,
        "the oldest key counts as the latest": torch.tensor(
            entries(mass.flip(0).tolist())[::-1]
        ),
    }
    expect_same(answer.entry_budgets(mass), want, mistakes=mistakes)


@check(points=2, likely="a latest key that is kept for its mass already brings a heavy one.")
def test_heavy_and_recent(answer):
    """Texts whose latest keys are the heaviest, and equal masses"""
    for seed, length, levels, late in (
        (662, 30, 1000, 9), (663, 41, 1000, 41), (664, 50, 3, 0), (665, 33, 1, 0),
        (666, 60, 4, 5),
    ):  # fmt: skip
        mass = masses(seed, length, levels, late)
        want = torch.tensor(entries(mass.tolist()))
        got = answer.entry_budgets(mass)
        expect_same(got, want, name=f"the budgets of {length} keys")


@check(points=1, likely="sets are compared budget by budget, or keys searched in a list.")
def test_long_text(answer):
    """150,000 keys: the latest are the lightest"""
    length = 150_000
    mass = torch.arange(length, 0, -1, dtype=torch.float64)
    # Heavy keys enter from the front at 1, 3, 5, ...; recent ones from the back.
    half = length // 2
    position = torch.arange(length)
    want = torch.where(position < half, 2 * position + 1, 2 * (length - position))
    expect_same(answer.entry_budgets(mass), want)


@check(points=1, likely="a key is kept from its own budget on, that one included.")
def test_kept_at(answer):
    """Sets at all budgets, and budgets that are none"""
    mass = masses(667, 20, levels=9, late=3)
    entered = torch.tensor(entries(mass.tolist()))
    for n, kept in enumerate(sets(mass.tolist())):
        want = torch.tensor([j in kept for j in range(20)])
        expect_same(answer.kept_at(entered, n), want, name=f"the set of {n} keys")
    for budget in (-1, 21):
        expect_raises(answer.kept_at, entered, budget, mentions="budget")


@check(points=1, likely="keys in both sets, over the budget.")
def test_common_keys(answer):
    """Two rankings at several budgets"""
    generator = torch.Generator().manual_seed(668)
    one, other = (torch.randperm(30, generator=generator) + 1 for _ in range(2))
    for budget in (1, 7, 20, 30):
        ours = {j for j in range(30) if one[j] <= budget}
        theirs = {j for j in range(30) if other[j] <= budget}
        want = len(ours & theirs) / budget
        mistakes = {
            "it is divided by the union": len(ours & theirs) / len(ours | theirs),
            "it is divided by all keys": len(ours & theirs) / 30,
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.common_keys(one, other, budget)
        expect_same(got, want, tolerance=1e-12, mistakes=mistakes)
    for budget in (0, 31):
        expect_raises(answer.common_keys, one, other, budget, mentions="budget")
