"""Checks of ch08/recency_floor."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=2,
    title="The floor, inside or outside",
    difficulty=2,
    minutes=25,
    hints=(
        "A budget of 32 keys, and the last 32 always stay. How many keys can the "
        "threshold still choose? Is the answer the same for both ways of counting?",
        "Give the floor a score above all others and let it take part in the ranking. "
        "Then only the total differs between inside and outside.",
        "score[:, S - floor:] = inf on a copy, then the first C * mean of one stable "
        "sort over all cells, mean = min(entries (+ floor), S).",
    ),
)

ROUNDING = 1e-12
"""A count over a count: exact to 1e-16."""


def want_of(score, entries, floor, inside, order=lambda r, c, j: (-r, j, c)):
    """Floors first, then one key at a time out of one sorted list."""
    cells, length = score.shape
    start = max(length - floor, 0)
    kept = torch.zeros(cells, length, dtype=torch.bool)
    kept[:, start:] = True
    mean = entries if inside else entries + length - start
    places = [(c, j) for c in range(cells) for j in range(start)]
    places.sort(key=lambda place: order(score[place].item(), *place))
    for place in places[: cells * min(mean, length) - int(kept.sum())]:
        kept[place] = True
    return kept


def scores(seed, cells=3, length=40, levels=None):
    """Random scores, many of them equal where ``levels`` are given."""
    generator = torch.Generator().manual_seed(seed)
    if levels:
        return torch.randint(levels, (cells, length), generator=generator).double()
    return torch.randn(cells, length, generator=generator).double()


@check(points=2, likely="the floor's keys count, and all others share one ranking.")
def test_inside(answer):
    """The floor inside the budget"""
    for seed, entries, floor in ((811, 12, 5), (812, 9, 9), (813, 20, 1)):
        score = scores(seed)
        want = want_of(score, entries, floor, True)
        mistakes = {
            "the floor is not counted": want_of(score, entries, floor, False),
            "the first keys are taken for the recent ones": want_of(
                score.flip(1), entries, floor, True
            ).flip(1),
            "there is no floor": want_of(score, entries, 0, True),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.with_floor(score, entries, floor, True)
        expect_same(got, want, mistakes=mistakes)


@check(points=2, likely="outside, the budget is filled on top of the floor.")
def test_outside(answer):
    """The floor on top of the budget, a budget of 0 among them"""
    for seed, entries, floor in ((814, 12, 5), (815, 3, 9), (816, 0, 4)):
        score = scores(seed)
        want = want_of(score, entries, floor, False)
        mistakes = {}
        if entries >= floor:
            mistakes["the floor is counted"] = want_of(score, entries, floor, True)
        got = answer.with_floor(score, entries, floor, False)
        expect_same(got, want, mistakes=mistakes)


@check(points=1, likely="equal scores fall by position first, and the total is exact.")
def test_ties(answer):
    """Many equal scores, no floor and some floor"""
    for seed, floor, inside in ((817, 0, True), (818, 6, True), (819, 6, False)):
        score = scores(seed, length=64, levels=2)
        want = want_of(score, 17, floor, inside)
        got = answer.with_floor(score, 17, floor, inside)
        expect_same(got, want)


@check(points=2, likely="min(floor, S) and min(budget, S) are missing.")
def test_short_texts(answer):
    """Texts shorter than the floor or the budget, and floors that don't fit"""
    score = scores(820, length=6)
    everything = torch.ones(3, 6, dtype=torch.bool)
    for entries, floor, inside in (
        (8, 8, True), (2, 8, False), (6, 2, True), (9, 2, True), (5, 3, False),
        (7, 32, True),
    ):  # fmt: skip
        got = answer.with_floor(score, entries, floor, inside)
        name = f"6 keys, entries {entries}, floor {floor}, inside {inside}"
        expect_same(got, everything, name=name)
    for entries, floor in ((3, 4), (0, 1), (5, 32)):
        expect_raises(
            answer.with_floor, score, entries, floor, True, mentions="entries"
        )


@check(points=1, likely="kept[:, :-floor] is empty for a floor of 0.")
def test_beyond_floor(answer):
    """Keys beyond the floor, also with a floor of 0 or longer than the text"""
    kept = scores(821, cells=4, length=10) > 0.3
    for floor in (0, 1, 4, 10, 12):
        want = sum(
            kept[c, j].item() for c in range(4) for j in range(max(10 - floor, 0))
        )
        mistakes = {"it is a sum over cells": float(want)} if want else {}
        got, name = answer.beyond_floor(kept, floor), f"beyond a floor of {floor}"
        expect_same(got, want / 4, tolerance=ROUNDING, mistakes=mistakes, name=name)
