"""Checks of ch16/outvoted."""

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="Outvoted: build the worst case",
    difficulty=3,
    minutes=40,
    hints=(
        "All pages' scores come out of one row of sum 1. How many of them can be as large "
        "as the needle's?",
        "In outvoted, each rival page needs the total weight that head 0 gives to the "
        "needle, no matter which heads it comes from. How much have all heads together "
        "left to give?",
        "Possible while weight * (kept + 1) <= heads. Pour: one key on each rival page, "
        "head after head, until each has its ``weight``; what is left goes to any rival "
        "key. A rival page is one that the needle is not on.",
    ),
)

SLACK = 1e-9
"""Sums of a few float64 numbers; ties count as lost."""


@check(points=2, likely="it is 1 over the needle's mixed weight, rounded down.")
def test_certain_pages(answer):
    """From votes and weights to pages"""
    for weight, needle, want in (
        ((1 / 3, 1 / 3, 1 / 3), (0.9, 0.0, 0.0), 3),
        ((0.25,) * 4, (1.0, 0.0, 0.0, 0.0), 4),
        ((1 / 6,) * 6, (0.5, 0.0, 0.0, 0.0, 0.0, 0.0), 12),
        ((0.8, 0.1, 0.1), (0.9, 0.0, 0.0), 1),
        ((0.2, 0.5, 0.3), (0.6, 0.1, 0.2), 4),
        ((0.1,) * 10, (0.1,) * 10, 10),
        ((0.5, 0.5), (0.0, 0.0), None),
        ((1.0, 0.0), (0.0, 1.0), None),
    ):
        got = answer.certain_pages(
            torch.tensor(weight, dtype=torch.float64), torch.tensor(needle, dtype=torch.float64)
        )
        expect_same(got, want)


def judge(rows, heads, length, page, kept, needle, weight):
    """The definition: is this a group in which the mean loses the needle?"""
    zero = torch.zeros(heads, length, dtype=torch.float64)
    expect_same(rows * 0, zero)
    expect(bool((rows >= -SLACK).all()), "a row has a weight below 0")
    sums = rows.sum(1).tolist()
    expect(all(abs(x - 1) <= SLACK for x in sums), f"the rows sum to {sums}; need 1 each")
    first = rows[0, needle].item()
    expect(abs(first - weight) <= SLACK, f"head 0 gives {first:.6g} to the needle; need {weight}")
    others = rows[1:, needle].abs().max().item()
    expect(others <= SLACK, "another head than 0 gives weight to the needle")
    mean = rows.mean(0).tolist()
    rivals = 0
    for start in range(0, length, page):
        if start // page != needle // page:
            rivals += max(mean[start : start + page]) >= mean[needle] - SLACK
    expect(rivals >= kept, f"{rivals} other pages are as good as the needle's; need {kept}")


@check(points=3, likely="each rival page needs `weight` in all, from any heads.")
def test_possible(answer):
    """Groups that can be built, with room to spare"""
    for case in ((3, 64, 16, 2, 5, 0.7), (6, 200, 16, 8, 100, 0.6), (2, 40, 8, 1, 39, 0.9),
                 (4, 37, 5, 7, 20, 0.2), (9, 50, 4, 12, 49, 0.65)):
        judge(answer.outvoted(*case), *case)


@check(points=2, likely="head 0 has 1 - weight to give as well; a page may be fed by two heads.")
def test_just_possible(answer):
    """No weight to spare"""
    for case in ((3, 64, 16, 2, 5, 1.0), (4, 96, 16, 4, 33, 0.8), (6, 128, 16, 7, 127, 0.75),
                 (2, 64, 16, 3, 0, 0.5), (3, 70, 10, 5, 42, 0.5)):
        judge(answer.outvoted(*case), *case)


@check(points=2, likely="kept + 1 pages need `weight` each, and the heads have 1 each.")
def test_impossible(answer):
    """More than can be outvoted: ValueError"""
    for case in ((3, 64, 16, 3, 5, 0.9), (3, 64, 16, 3, 5, 0.76), (6, 300, 16, 12, 9, 0.47),
                 (2, 64, 16, 2, 5, 0.7)):
        expect_raises(answer.outvoted, *case, mentions="weight")
