"""Checks of ch08/threshold."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="One threshold for all heads",
    difficulty=1,
    minutes=20,
    hints=(
        "Ninety heads bid for the places of one cache. Do they need ninety lists?",
        "Flatten all scores into one list and keep the first ones of a stable sort. "
        "In which order must the scores lie, so that equal ones fall as they should?",
        "score.T.reshape(-1).argsort(descending=True, stable=True)[:total], marked in "
        "a list of False, reshaped to [S, C] and transposed back.",
    ),
)

PARTS = "kept sets", "threshold"


def tensor(*rows):
    """Rows of float64."""
    return torch.tensor(rows, dtype=torch.float64)


def masks(score, total, key):
    """The ``total`` first keys in the order of ``key``, by a plain sort."""
    cells, length = score.shape
    places = [(c, j) for c in range(cells) for j in range(length)]
    places.sort(key=lambda place: key(score[place].item(), *place))
    kept = torch.zeros(cells, length, dtype=torch.bool)
    for place in places[:total]:
        kept[place] = True
    return kept, score[places[total - 1]].item()


def want_of(score, total):
    """Position before cell among equal scores."""
    return masks(score, total, lambda r, c, j: (-r, j, c))


@check(points=2, likely="all cells share one ranking; a cell has no number of its own.")
def test_one_ranking(answer):
    """A sharp head and a flat one, and random scores"""
    score = tensor([0.9, 0.05, 0.03, 0.02], [0.3, 0.25, 0.24, 0.21])
    each = torch.tensor([[True, True, False, False]] * 2)
    mistakes = {
        "every cell keeps equally many": (each, 0.05),
        "the lowest scores are kept": masks(score, 4, lambda r, c, j: r),
        "the highest dropped score is called tau": (want_of(score, 4)[0], 0.21),
    }
    want = want_of(score, 4)
    got = answer.one_threshold(score, 4)
    expect_same(got, want, mistakes=mistakes, parts=PARTS)
    generator = torch.Generator().manual_seed(801)
    for total in (1, 7, 33, 60):
        score = torch.randn(5, 12, generator=generator).double()
        got, name = answer.one_threshold(score, total), f"{total} of 60 keys"
        expect_same(got, want_of(score, total), name=name, parts=PARTS)


@check(points=2, likely="equal scores fall by position first, then by cell.")
def test_ties(answer):
    """Many equal scores: exactly the total, the smaller positions first"""
    generator = torch.Generator().manual_seed(802)
    # Longer than sixteen: shorter sorts happen to be stable anyway.
    for levels, total in ((1, 50), (3, 41), (4, 100)):
        score = torch.randint(levels, (3, 64), generator=generator).double()
        want = want_of(score, total)
        whole = masks(score, total, lambda r, c, j: (-r, c, j))
        mistakes = {
            "a whole cell comes before the next": whole,
            "every score at the threshold is kept": (score >= want[1], want[1]),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x[0], want[0])}
        got = answer.one_threshold(score, total)
        expect_same(got, want, mistakes=mistakes, parts=PARTS)


@check(points=1, likely="a total that cannot be kept is accepted.")
def test_totals(answer):
    """Everything may be kept; no key, or more than all: ValueError"""
    score = tensor([2.0, 1.0], [4.0, 3.0])
    want = torch.ones(2, 2, dtype=torch.bool), 1.0
    expect_same(answer.one_threshold(score, 4), want, parts=PARTS)
    for total in (0, -1, 5):
        expect_raises(answer.one_threshold, score, total, mentions="total")


@check(points=2, likely="one tau for all cells; keys of the floor don't count.")
def test_one_price(answer):
    """Sets with one price, with a price for each cell, with floors and ties"""
    score = tensor([5.0, 4.0, 1.0, 0.5], [9.0, 3.0, 2.0, 2.0])
    none = torch.zeros(2, 4, dtype=torch.bool)
    last = none.clone()
    last[:, -1] = True
    cases = (
        ([[1, 1, 0, 0], [1, 1, 0, 0]], none, True),  # tau from 2 to 3
        ([[1, 1, 1, 0], [1, 0, 0, 0]], none, False),  # 1 kept, 3 dropped
        ([[1, 0, 0, 1], [1, 0, 0, 1]], last, True),  # floors may be low
        ([[0, 1, 0, 1], [1, 0, 0, 1]], last, False),  # 4 kept, 5 dropped
        ([[1, 1, 0, 0], [1, 1, 1, 0]], none, True),  # a tie may fall either way
        ([[1, 1, 0, 0], [1, 1, 0, 1]], none, True),
        ([[1, 1, 1, 1], [1, 1, 1, 1]], none, True),  # nothing dropped
        ([[0, 0, 0, 1], [0, 0, 0, 1]], last, True),  # nothing but the floor
        ([[0, 1, 0, 0], [1, 1, 0, 0]], none, False),  # 5 dropped in its own cell
    )
    for kept, floor, want in cases:
        kept = torch.tensor(kept, dtype=torch.bool)
        got = answer.has_one_price(score, kept, floor)
        expect_same(got, want, name=f"the answer about {kept.int().tolist()}")
