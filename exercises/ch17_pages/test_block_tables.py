"""Checks of ch17/block_tables."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=4,
    title="A pool, and tables that find its pages",
    difficulty=3,
    minutes=45,
    hints=(
        "Draw a text of ten tokens in pages of four. Which tokens are on the last page, and "
        "what stands in the pool behind them?",
        "Pad the keys with 0 to whole pages and view them as [tables, pages, page, heads of a "
        "table, D]. A boolean mask [tables, pages] picks pages in the order you need.",
        "The pool's pages are numbered table after table: table[arange(most) < counts[:, "
        "None]] = arange(M). A table's length is the sum of its pages' true sizes. evict: "
        "a page returns if it was in a table before and is in none after.",
    ),
)


def layer(seed, heads=3, length=22, dim=2):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(heads, length, dim, generator=generator, dtype=torch.float64)


def wanted(seed, heads, pages, share=0.5):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(heads, pages, generator=generator) < share


CASES = ((1730, 3, 22, 4), (1731, 2, 24, 4), (1732, 4, 5, 8), (1733, 3, 17, 1))


def by_loop(keys, want_kn, page, shared):
    """Pool, table and lengths with lists."""
    heads, tokens, dim = keys.shape
    owners = [list(range(heads))] if shared else [[k] for k in range(heads)]
    pool, rows, lengths = [], [], []
    for members in owners:
        row, length = [], 0
        for n in range(want_kn.shape[1]):
            if any(want_kn[k, n] for k in members):
                row.append(len(pool))
                block = torch.zeros(page, len(members), dim, dtype=keys.dtype)
                for t in range(n * page, min((n + 1) * page, tokens)):
                    length += 1
                    for i, k in enumerate(members):
                        block[t - n * page, i] = keys[k, t]
                pool.append(block)
        rows.append(row)
        lengths.append(length)
    most = max(map(len, rows))
    table = torch.tensor([r + [-1] * (most - len(r)) for r in rows], dtype=torch.int64)
    width = heads if shared else 1
    pool = torch.stack(pool) if pool else torch.zeros(0, page, width, dim, dtype=keys.dtype)
    return pool, table.view(len(rows), most), torch.tensor(lengths)


PARTS = ("pool", "table", "length")


@check(points=3, likely="pages lie head after head, each in the order of the text.")
def test_own_tables(answer):
    """A table for every head"""
    for seed, heads, length, page in CASES:
        keys, chosen = layer(seed, heads, length), wanted(seed, heads, -(-length // page))
        got = answer.lay_out(keys, chosen, page, False)
        expect_same(got, by_loop(keys, chosen, page, False), parts=PARTS)


@check(points=2, likely="one table, and pages that hold all heads.")
def test_shared_table(answer):
    """One table for all heads"""
    for seed, heads, length, page in CASES:
        keys, chosen = layer(seed, heads, length), wanted(seed, heads, -(-length // page), 0.3)
        got = answer.lay_out(keys, chosen, page, True)
        expect_same(got, by_loop(keys, chosen, page, True), parts=PARTS)


@check(points=1, likely="a head may want nothing, or all may.")
def test_nothing(answer):
    """Heads without a page, and no page at all"""
    keys = layer(1734, 3, 22)
    none = torch.zeros(3, 6, dtype=torch.bool)
    one = none.clone()
    one[1, 5] = True
    for chosen in (none, one):
        for shared in (False, True):
            got = answer.lay_out(keys, chosen, 4, shared)
            expect_same(got, by_loop(keys, chosen, 4, shared), parts=PARTS)


@check(points=3, likely="read the pages in the table's order; the last may be short.")
def test_read(answer):
    """What a head finds, also through tables in another order"""
    for seed, heads, length, page in CASES:
        keys, chosen = layer(seed, heads, length), wanted(seed + 9, heads, -(-length // page))
        for shared in (False, True):
            pool, table, lengths = by_loop(keys, chosen, page, shared)
            # The same cache, its pages moved about in the pool.
            order = torch.randperm(len(pool), generator=torch.Generator().manual_seed(seed))
            moved = torch.empty_like(pool)
            moved[order] = pool
            new = torch.where(table >= 0, order[table.clamp_min(0)], -1) if len(pool) else table
            for k in range(heads):
                sees = (chosen.any(0) if shared else chosen[k]).repeat_interleave(page)[:length]
                got = answer.read(moved, new, lengths, k)
                expect_same(got, keys[k, sees])


@check(points=2, likely="a page returns when no table lists it any more.")
def test_evict(answer):
    """Tables that share pages"""
    table = torch.tensor([[5, 2, 9, 4], [5, 2, 7, -1], [5, 1, -1, -1]])
    for freed, rows, returned in (
        ([[2], [2], []], [[5, 9, 4], [5, 7, -1], [5, 1, -1]], [2]),
        ([[2, 4], [7], [5]], [[5, 9], [5, 2], [1, -1]], [4, 7]),
        ([[5], [5], [5]], [[2, 9, 4], [2, 7, -1], [1, -1, -1]], [5]),
        ([[], [], []], [[5, 2, 9, 4], [5, 2, 7, -1], [5, 1, -1, -1]], []),
        ([[9, 5, 4, 2], [5, 7, 2], [1, 5]], [[], [], []], [1, 2, 4, 5, 7, 9]),
    ):
        want = torch.tensor(rows, dtype=torch.int64).view(3, -1 if rows[0] else 0)
        got = answer.evict(table, freed)
        expect_same(got, (want, returned), parts=("tables", "returned pages"))
