"""Checks of ch17/page_budget."""

import itertools

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="A budget in pages, to the last token",
    difficulty=2,
    minutes=25,
    hints=(
        "How many tokens does it take to give one layer one more page? How often does the "
        "budget pay for that?",
        "Hand out all pages first, then see which layers get one more. A short page is "
        "missing -length % page tokens: who has it, and who must?",
        "pages_per_layer: divmod(tokens // (heads * page), layers). held: heads * (sum of "
        "pages * page - missing * how many layers have the last page): all with a page for "
        "the least, those that keep every page for the most, unless it always stays.",
    ),
)


@check(points=3, likely="round the whole budget down to pages, then divide the pages.")
def test_pages(answer):
    """The published case, and small ones by hand"""
    for arguments, want in (
        ((35_000, 32, 8, 16), [9] * 17 + [8] * 15),
        ((384, 4, 3, 16), [2] * 4),
        ((383, 4, 3, 16), [2, 2, 2, 1]),
        ((100, 3, 2, 16), [1, 1, 1]),
        ((95, 3, 2, 16), [1, 1, 0]),
        ((31, 3, 2, 16), [0, 0, 0]),
        ((0, 2, 1, 1), [0, 0]),
        ((17, 5, 1, 1), [4, 4, 3, 3, 3]),
    ):
        tokens, layers, heads, page = arguments
        alone = [tokens // layers // (heads * page)] * layers
        mistakes = {
            "each layer rounds for itself": alone,
            "the last layers get what is left": want[::-1],
            "heads are left out": [tokens // page // layers
                                   + (i < tokens // page % layers) for i in range(layers)],
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        expect_same(answer.pages_per_layer(*arguments), want, mistakes=mistakes)


def every_choice(pages, heads, page, length, last_stays):
    """Least and most of what heads can hold, over all sets of pages."""
    sizes = [min(page, length - i) for i in range(0, length, page)]
    totals = {0}
    for count in pages:
        one = set()
        for chosen in itertools.combinations(range(len(sizes)), count):
            if count and last_stays and len(sizes) - 1 not in chosen:
                continue
            one.add(sum(sizes[i] for i in chosen))
        for _ in range(heads):
            totals = {t + x for t in totals for x in one}
    return min(totals), max(totals)


@check(points=4, likely="a head with all pages has the short one; a head with none has not.")
def test_held(answer):
    """Every set of pages tried, on small texts"""
    for pages, heads, page, length in (
        ([2, 2, 1], 2, 4, 14), ([4, 3, 0], 2, 4, 14), ([4, 4], 3, 4, 14), ([1, 0], 1, 5, 3),
        ([3, 2, 1, 0], 2, 4, 12), ([0, 0], 2, 3, 7), ([7, 3], 1, 1, 7), ([2, 1], 3, 6, 7),
    ):
        for last_stays in (False, True):
            want = every_choice(pages, heads, page, length, last_stays)
            full = heads * page * sum(pages)
            mistakes = {"a short page is counted as full": (full, full),
                        "least and most are exchanged": want[::-1]}
            mistakes = {k: x for k, x in mistakes.items() if x != want}
            got = answer.held_tokens(pages, heads, page, length, last_stays)
            expect_same(got, want, mistakes=mistakes, parts=("least", "most"))


@check(points=2, likely="alone, each layer wastes a share of its own.")
def test_wasted(answer):
    """Together and alone"""
    for arguments, want in (
        ((35_000, 32, 8, 16), (56, 2232)),
        ((384, 4, 3, 16), (0, 0)),
        ((383, 4, 3, 16), (47, 191)),
        ((47, 4, 3, 16), (47, 47)),
        ((1000, 7, 2, 3), (4, 34)),
    ):
        mistakes = {"they are exchanged": want[::-1]}
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.wasted(*arguments)
        expect_same(got, want, mistakes=mistakes, parts=("together", "alone"))
