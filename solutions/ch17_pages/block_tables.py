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
    # BEGIN SOLUTION
    heads, tokens, dim = keys_ksd.shape
    pages = wanted_kn.shape[1]
    padded_ksd = torch.zeros(heads, pages * page, dim, dtype=keys_ksd.dtype)
    padded_ksd[:, :tokens] = keys_ksd
    if shared:
        wanted_tn = wanted_kn.any(0, keepdim=True)
        paged_tnpgd = padded_ksd.view(1, heads, pages, page, dim).permute(0, 2, 3, 1, 4)
    else:
        wanted_tn = wanted_kn
        paged_tnpgd = padded_ksd.view(heads, pages, page, 1, dim)
    # Boolean indexing runs table after table, and in each through the text.
    pool = paged_tnpgd[wanted_tn]
    counts_t = wanted_tn.sum(1)
    inside = torch.arange(int(counts_t.max())) < counts_t[:, None]
    table = torch.full(inside.shape, -1)
    table[inside] = torch.arange(len(pool))
    size_n = (tokens - torch.arange(pages) * page).clamp(max=page)
    return pool, table, (wanted_tn * size_n).sum(1)
    # END SOLUTION


def read(pool, table, length, head):
    """Return the keys that a KV head finds through its table, in the order of the text.

    With one table for several heads, a head finds all that the table lists.

    pool, table, length: from `lay_out`; head: int, 0 <= head < K
    Returns [n, D] float64, n the length of its table.
    """
    # BEGIN SOLUTION
    group = pool.shape[2]
    row, place = head // group, head % group
    count = int((table[row] >= 0).sum())
    found = pool[table[row, :count], :, place].flatten(0, 1)
    return found[: int(length[row])]
    # END SOLUTION


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
    # BEGIN SOLUTION
    before = [[p for p in row if p >= 0] for row in table.tolist()]
    after = [[p for p in row if p not in gone] for row, gone in zip(before, freed_t)]
    longest = max(map(len, after))
    rows = [row + [-1] * (longest - len(row)) for row in after]
    listed = {page for row in after for page in row}
    returned = sorted({page for row in before for page in row} - listed)
    return torch.tensor(rows, dtype=torch.int64).view(len(after), longest), returned
    # END SOLUTION
