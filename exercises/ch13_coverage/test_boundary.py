"""Checks of ch13/boundary."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="Who is above the cut",
    difficulty=2,
    minutes=20,
    hints=(
        "Which keys can change sides when scores are a little wrong? The loss looks "
        "at those only, and only at differences.",
        "Order by the teacher, then slice: [kept - width, kept) and [kept, kept + "
        "width). A slice that starts below 0 counts from the end.",
        "(margin - above[:, None] + below).clamp_min(0).mean(); for the overlap mark "
        "both sets as bool and count where both are True.",
    ),
)

ROUNDING = 1e-12
"""Means of some hundred float64 numbers below 10."""


def ranked(x):
    """Positions by value, ties to the smaller."""
    return sorted(range(len(x)), key=lambda i: (-x[i].item(), i))


def hinge(score, order, kept, width, margin):
    """The definition in loops."""
    above, below = order[max(kept - width, 0) : kept], order[kept : kept + width]
    terms = [
        max(0.0, margin - (score[i] - score[j]).item()) for i in above for j in below
    ]
    return sum(terms) / len(terms)


def draw(seed, count, levels=None):
    """Scores and a teacher, with ties where levels are given."""
    generator = torch.Generator().manual_seed(seed)
    if levels:
        both = torch.randint(levels, (2, count), generator=generator).double()
    else:
        both = torch.randn(2, count, generator=generator, dtype=torch.float64)
    return both[0], both[1]


@check(points=2, likely="pairs of kept and not kept, next to the teacher's cut.")
def test_pairs(answer):
    """Pairs next to the cut, no other"""
    for seed, kept, width, margin in ((141, 20, 6, 0.5), (142, 33, 4, 1.5)):
        score, teacher = draw(seed, 50)
        order = ranked(teacher)
        want = hinge(score, order, kept, width, margin)
        mistakes = {
            "the order is the scores' own": hinge(
                score, ranked(score), kept, width, margin
            ),
            "all kept and all others are paired": hinge(
                score, order, kept, 50, margin
            ),
            "the smallest of the teacher are kept": hinge(
                score, order[::-1], kept, width, margin
            ),
            "the difference is turned": hinge(-score, order, kept, width, margin),
            "the hinge is not cut at 0": margin - (
                score[order[kept - width : kept]].mean()
                - score[order[kept : kept + width]].mean()
            ).item(),
        }  # fmt: skip
        got = answer.boundary(score, teacher, kept, width, margin)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="a slice that starts below 0 counts from the end.")
def test_edges(answer):
    """Fewer than `width` keys on one side; equal teacher values"""
    for seed, kept, width, levels in (
        (143, 3, 8, None), (144, 28, 8, None), (145, 15, 5, 4), (146, 1, 1, 2),
    ):  # fmt: skip
        score, teacher = draw(seed, 30, levels)
        score = score + torch.linspace(0, 1, 30, dtype=torch.float64)
        want = hinge(score, ranked(teacher), kept, width, 0.5)
        got = answer.boundary(score, teacher, kept, width, 0.5)
        name = f"the loss with {kept} of 30 kept, width {width}"
        expect_same(got, want, tolerance=ROUNDING, name=name)


@check(points=2, likely="count what both keep, and divide by what the teacher keeps.")
def test_overlap(answer):
    """Shares of the teacher's keys, ties too"""
    for seed, count, kept, levels in (
        (147, 40, 10, None), (148, 40, 40, None), (149, 60, 20, 3), (150, 25, 1, 2),
    ):  # fmt: skip
        score, teacher = draw(seed, count, levels)
        both = set(ranked(score)[:kept]) & set(ranked(teacher)[:kept])
        want = len(both) / kept
        union = 2 * kept - len(both)
        mistakes = {
            "it is divided by the union": len(both) / union,
            "it is divided by all keys": len(both) / count,
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-9}
        got = answer.overlap(score, teacher, kept)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
