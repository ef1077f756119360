"""Pages in a pool, and the tables that find them."""

import torch


def lay_out(keys_ksd, wanted_kn, page, shared):
    """Return pool, tables and lengths of one layer's keys, in pages of ``page`` tokens.

    Not shared: every head has a table of its own, pool [M, page, 1, D] holds the pages that
    it wants, head after head. Shared: the K heads have one table, pool [M, page, K, D] holds
    the pages that any of them wants. In a table pages stand in the order of the text, and
    the pool holds them in the order of the tables. Beyond the end of a text that fills its
    last page only in part, the pool is 0.

    keys_ksd: [K, S, D] float64; wanted_kn: [K, N] bool, N = ceil(S / page)

    Returns (pool, table, length): table [T, most] int64, T = K tables or 1, the numbers of
    its pages in the pool, and -1 beyond its last one; most, the pages of the longest table,
    may be 0. length [T] int64, the tokens on a table's pages. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/block_tables is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/block_tables.py, "
        "then run: kvteach grade ch17/block_tables"
    )


def read(pool, table, length, head):
    """Return the keys that a KV head finds through its table, in the order of the text.

    With one table for several heads, a head finds all that the table lists.

    pool, table, length: from `lay_out`; head: int, 0 <= head < K
    Returns [n, D] float64, n the length of its table.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/block_tables is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/block_tables.py, "
        "then run: kvteach grade ch17/block_tables"
    )


def evict(table, freed_t):
    """Return the tables without some pages, and the pages that can be given back.

    Tables of several sequences may list the same page, because they begin with the same
    text. A page goes back to the pool when no table lists it any more.

    table: [T, most] int64, -1 beyond the last page of each; freed_t: list of T lists of
    page numbers, which table t gives up; all are in it

    Returns (table, returned): the new tables, [T, longest of them] int64, each in its old
    order and filled up with -1, and a list of ints, ascending. The arguments stay as
    they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/block_tables is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/block_tables.py, "
        "then run: kvteach grade ch17/block_tables"
    )
