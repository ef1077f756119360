"""Checks of ch17/page_worth."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="What a page is worth",
    difficulty=1,
    minutes=15,
    hints=(
        "A text of 37 tokens has five pages of 8. What is the mean of the last one over?",
        "torch.split cuts a tensor into pieces, the last one shorter, so nothing has to be "
        "padded. Padding with 0 would beat negative scores.",
        "keys_kept: a stable descending argsort, the first `count` of it scattered into a "
        "mask of pages, repeat_interleave to keys, cut at the length.",
    ),
)

ROUNDING = 1e-12
"""Means of at most 16 numbers of size 1, in float64."""


def scores(seed, heads=3, length=37):
    """Numbers of both signs, [K, S]."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(heads, length, generator=generator, dtype=torch.float64)


def by_loop(score, page, of):
    """The definition, with lists."""
    found = [[of(row[i : i + page]) for i in range(0, len(row), page)] for row in score.tolist()]
    return torch.tensor(found, dtype=torch.float64)


def mean(values):
    return sum(values) / len(values)


@check(points=2, likely="the last page must not see keys that are not there.")
def test_max(answer):
    """The best key, whole pages and a short one"""
    for seed, length, page in ((1700, 37, 8), (1701, 32, 8), (1702, 5, 16), (1703, 9, 1)):
        score = scores(seed, length=length) - 3
        want = by_loop(score, page, max)
        mistakes = {
            "the mean is taken": by_loop(score, page, mean),
            "the least key is taken": by_loop(score, page, min),
            "the last page is padded with 0": by_loop(
                torch.cat([score, score.new_zeros(3, -length % page)], 1), page, max),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.page_scores(score, page, "max")
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="a short page has fewer keys to divide by.")
def test_mean(answer):
    """The mean over the keys that are there"""
    for seed, length, page in ((1704, 37, 8), (1705, 32, 8), (1706, 5, 16)):
        score = scores(seed, length=length)
        want = by_loop(score, page, mean)
        mistakes = {
            "a short page is divided by the full size": by_loop(
                score, page, lambda x: sum(x) / page),
            "pages are summed": by_loop(score, page, sum),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.page_scores(score, page, "mean")
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    needle = torch.zeros(1, 32, dtype=torch.float64)
    needle[0, 3], needle[0, 16:] = 0.95, 0.06
    want = torch.tensor([[0.059375, 0.06]], dtype=torch.float64)
    expect_same(answer.page_scores(needle, 16, "mean"), want, tolerance=ROUNDING)


@check(points=1, likely="any projection but the two is a mistake of the caller.")
def test_projection(answer):
    """Another projection: ValueError"""
    expect_raises(answer.page_scores, scores(1707), 8, "median", mentions="project")


@check(points=3, likely="count pages, not keys; ties go to the earlier page.")
def test_keys_kept(answer):
    """Pages become keys: ties, a short page, none and all"""
    worth = torch.tensor([[1.0, 3.0, 3.0, 3.0, 2.0], [-1.0, -1.0, torch.inf, -1.0, 5.0]],
                         dtype=torch.float64)
    for count, pages in (
        (0, ((), ())), (1, ((1,), (2,))), (2, ((1, 2), (2, 4))), (3, ((1, 2, 3), (0, 2, 4))),
        (4, ((1, 2, 3, 4), (0, 1, 2, 4))), (5, (range(5), range(5))),
    ):
        want = torch.zeros(2, 37, dtype=torch.bool)
        for head, chosen in enumerate(pages):
            for n in chosen:
                want[head, 8 * n : 8 * n + 8] = True
        expect_same(answer.keys_kept(worth, count, 8, 37), want, name=f"count {count}")
    # Sorting is only stable by chance on a few equal numbers.
    even = torch.zeros(1, 300, dtype=torch.float64)
    want = torch.arange(900)[None] < 300
    expect_same(answer.keys_kept(even, 100, 3, 900), want)
