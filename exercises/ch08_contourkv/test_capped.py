"""Checks of ch08/capped."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="Enforced on every head",
    difficulty=2,
    minutes=20,
    hints=(
        "What remains of the threshold when every head must keep equally many keys?",
        "Rank within each cell, the floor before everything else. For the price: sum "
        "the scores that each family of sets keeps, the floor left out.",
        "argsort(dim=1, descending=True, stable=True)[:, :entries] on a copy with +inf "
        "on the floor; scatter True. Slice the floor off before any product.",
    ),
)

ROUNDING = 1e-12
"""Sums of some dozen scores in float64: 1e-15 relative."""


def scores(seed, cells=4, length=40, levels=None):
    """Scores >= 0, many of them equal where ``levels`` are given."""
    generator = torch.Generator().manual_seed(seed)
    if levels:
        return torch.randint(levels, (cells, length), generator=generator).double()
    return torch.rand(cells, length, generator=generator).double() ** 4


def cap(score, entries, floor):
    """The definition, with a plain sort of each cell."""
    cells, length = score.shape
    start = max(length - floor, 0)
    kept = torch.zeros(cells, length, dtype=torch.bool)
    kept[:, start:] = True
    for c in range(cells):
        order = sorted(range(start), key=lambda j: (-score[c, j].item(), j))
        kept[c, order[: entries - (length - start)]] = True
    return kept


def contour(score, entries, floor):
    """One threshold for all cells, with a plain sort."""
    cells, length = score.shape
    kept = torch.zeros(cells, length, dtype=torch.bool)
    kept[:, length - floor :] = True
    places = [(c, j) for c in range(cells) for j in range(length - floor)]
    places.sort(key=lambda place: -score[place].item())
    for place in places[: cells * (entries - floor)]:
        kept[place] = True
    return kept


@check(points=2, likely="every cell for itself, the floor first and counted.")
def test_every_cell(answer):
    """Each cell its best keys, the floor among them"""
    for seed, entries, floor in ((831, 12, 5), (832, 9, 9), (833, 15, 0)):
        score = scores(seed)
        want = cap(score, entries, floor)
        mistakes = {
            "all cells share one ranking": contour(score, entries, floor),
            "the floor comes on top": cap(score, entries + floor, floor),
            "there is no floor": cap(score, entries, 0),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.capped(score, entries, floor)
        expect_same(got, want, mistakes=mistakes)


@check(points=1, likely="torch.topk promises no order among equal scores.")
def test_ties(answer):
    """Many equal scores: the smaller positions"""
    for seed, floor in ((834, 0), (835, 7)):
        score = scores(seed, length=80, levels=2)
        got = answer.capped(score, 30, floor)
        expect_same(got, cap(score, 30, floor))


@check(points=1, likely="min(floor, S) is missing, or a floor that doesn't fit is cut.")
def test_short_texts(answer):
    """Texts shorter than the budget or the floor; a floor that doesn't fit"""
    score = scores(836, length=6)
    everything = torch.ones(4, 6, dtype=torch.bool)
    for entries, floor in ((6, 2), (9, 2), (8, 32), (6, 6)):
        got = answer.capped(score, entries, floor)
        expect_same(got, everything, name=f"6 keys, entries {entries}, floor {floor}")
    for entries, floor in ((3, 4), (5, 32)):
        expect_raises(answer.capped, score, entries, floor, mentions="entries")


@check(points=2, likely="scores outside the floor, of the capped over the contour's.")
def test_price(answer):
    """Flat cells pay: the share of the score that capping gives up"""
    for seed, entries, floor in ((837, 12, 5), (838, 8, 0)):
        score = scores(seed)
        score[0] *= 20
        one, each = contour(score, entries, floor), cap(score, entries, floor)
        start = score.shape[1] - floor
        parts = [
            sum(score[c, j].item() for c in range(4) for j in range(start) if kept[c, j])
            for kept in (one, each)
        ]
        want = 1 - parts[1] / parts[0]
        with_floor = [score[kept].sum().item() for kept in (one, each)]
        mistakes = {
            "the floor takes part": 1 - with_floor[1] / with_floor[0],
            "the share that stays is returned": 1 - want,
            "the loss is not divided": parts[0] - parts[1],
            "the loss is divided by what the capped sets keep": parts[0] / parts[1] - 1,
            "keys are counted": 1 - (one & each).sum().item() / one.sum().item(),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-9}
        got = answer.price_of_capping(score, one, each, floor)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=1, likely="inf times 0 is no number; 0 / 0 neither.")
def test_infinite_floor(answer):
    """A floor with scores of +inf, sets that are alike, and nothing kept"""
    score = scores(839)
    score[:, -5:] = torch.inf
    one, each = contour(score, 12, 5), cap(score, 12, 5)
    want = 1 - (score[:, :-5][each[:, :-5]].sum() / score[:, :-5][one[:, :-5]].sum())
    got = answer.price_of_capping(score, one, each, 5)
    expect_same(got, want.item(), tolerance=ROUNDING)
    got = answer.price_of_capping(score, each, each, 5)
    expect_same(got, 0.0, tolerance=ROUNDING, name="the price where nothing changes")
    floor = contour(score, 5, 5)
    got = answer.price_of_capping(score, floor, floor, 5)
    expect_same(got, 0.0, name="the price where only the floor is kept")
