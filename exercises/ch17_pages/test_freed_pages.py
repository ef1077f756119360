"""Checks of ch17/freed_pages."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=3,
    title="Who else wants this page?",
    difficulty=2,
    minutes=25,
    hints=(
        "When is a page free: when one key on it is dropped, or when all are? By one head, "
        "or by all that read through its table?",
        "any over the keys of a page first, then any over heads, then over layers. On a page "
        "that is held for one head, how many heads hold it?",
        "Split the keys into pages; wanted_lk is any over the piece's keys; for a shared "
        "table any(dim, keepdim=True) and expand back; sum, times the piece's length.",
    ),
)

ROUNDING = 1e-12
"""A power and a division in float64."""


def kept(seed, layers=3, heads=2, length=29, share=0.1):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(layers, heads, length, generator=generator) < share


def by_loop(kept_lks, page, sharing):
    """Tokens held; sharing(l, k) says which table a head reads through."""
    layers, heads, length = kept_lks.shape
    held = 0
    for first in range(0, length, page):
        part = kept_lks[:, :, first : first + page]
        wanted = {sharing(i, k) for i in range(layers) for k in range(heads) if part[i, k].any()}
        for i in range(layers):
            held += sum(part.shape[2] for k in range(heads) if sharing(i, k) in wanted)
    return held


TABLES = {"head": lambda i, k: (i, k), "layer": lambda i, k: i, "model": lambda i, k: 0}


@check(points=2, likely="a page is held whole, and the last one may be short.")
def test_own_tables(answer):
    """A table for every head"""
    for seed, page, length in ((1720, 4, 29), (1721, 8, 32), (1722, 1, 17), (1723, 50, 29)):
        k = kept(seed, length=length)
        want = by_loop(k, page, TABLES["head"])
        mistakes = {
            "keys are counted and not pages": int(k.sum()),
            "a short page counts as full": want + sum(
                -length % page for row in k.flatten(0, 1) if row[-(length % page or page):].any()),
        }
        mistakes = {m: x for m, x in mistakes.items() if x != want}
        expect_same(answer.tokens_held(k, page, "head"), want, mistakes=mistakes)


@check(points=3, likely="on a page that one head wants, all heads of the table hold memory.")
def test_shared_tables(answer):
    """A table for a layer, and one for the model"""
    for seed, page, share in ((1724, 4, 0.05), (1725, 8, 0.02), (1726, 3, 0.01), (1727, 5, 0.0)):
        k = kept(seed, layers=4, heads=3, share=share)
        for table in ("layer", "model"):
            want = by_loop(k, page, TABLES[table])
            mistakes = {
                "every head has its own table": by_loop(k, page, TABLES["head"]),
                "the other sharing is computed": by_loop(
                    k, page, TABLES["model" if table == "layer" else "layer"]),
                "heads of different layers share": by_loop(k, page, lambda i, k: k),
                "a shared page is counted once": want // 3 if table == "layer" else want // 12,
            }
            mistakes = {m: x for m, x in mistakes.items() if x != want}
            expect_same(answer.tokens_held(k, page, table), want, mistakes=mistakes)


@check(points=1, likely="three tables are known.")
def test_tables(answer):
    """Another table: ValueError"""
    expect_raises(answer.tokens_held, kept(1728), 4, "sequence", mentions="table")


@check(points=2, likely="1 - (1 - share)^tokens, with a power of its own for the short page.")
def test_at_random(answer):
    """The expected share, with a short page and without"""
    for share, length, page in ((0.2, 64, 16), (0.2, 70, 16), (0.5, 5, 16), (0.05, 33, 32),
                                (0.0, 20, 4), (1.0, 21, 4), (0.3, 10, 1)):
        sizes = [min(page, length - i) for i in range(0, length, page)]
        want = sum(n * (1 - (1 - share) ** n) for n in sizes) / length
        mistakes = {
            "all pages are full": 1 - (1 - share) ** page,
            "free pages are counted": 1 - want,
            "pages are counted, not tokens": sum(1 - (1 - share) ** n for n in sizes) / len(sizes),
        }
        mistakes = {m: float(x) for m, x in mistakes.items() if abs(x - want) > 1e-9}
        got = answer.share_held_at_random(share, length, page)
        expect_same(got, float(want), tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="the largest page that is still free often enough, not the next.")
def test_largest_page(answer):
    """Free with probability (1 - share)^page"""
    for share, wanted, want in ((0.2, 0.5, 3), (0.05, 0.5, 13), (0.5, 0.25, 2), (0.5, 0.3, 1),
                                (0.9, 0.2, 0), (0.01, 0.9, 10), (0.5, 0.5, 1)):
        expect_same(answer.largest_page(share, wanted), want)
