"""Paged stores: bytes, tables as serving engines read them, pages of padded batches.

Their attention, counts, positions and selection are checked with those of all other
layouts in test_store.py, at 16 tokens a page.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.caches import account, store

PAGED = ("paged", "paged-layer")


@st.composite
def cases(draw):
    """(keys, values, kept, page): B, K <= 3, S <= 70, pages of 1 to 64 tokens."""
    g = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    batch, heads = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    length = draw(st.integers(1, 70))
    share = draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]))
    keys, values = torch.randn(2, batch, heads, length, 8, generator=g)
    kept = torch.rand(batch, heads, length, generator=g) < share
    return keys, values, kept, draw(st.integers(1, 64))


def wanted(kept_s, page):
    """Numbers of the pages with a kept key, by a plain loop."""
    return sorted({int(s) // page for s in kept_s.nonzero()[:, 0]})


@pytest.mark.parametrize("kind", PAGED)
@given(case=cases())
def test_pages_held_are_those_somebody_wants(kind, case):
    keys, values, kept, page = case
    batch, heads, length, dim = keys.shape
    built = store.build(kind, keys, values, kept, page=page)
    readers = [[list(range(heads))] if kind == "paged-layer" else [[k] for k in range(heads)]
               for _ in range(batch)]
    held = [[wanted(kept[b, of].any(0), page) for of in readers[b]] for b in range(batch)]
    total = sum(len(pages) for tables in held for pages in tables)
    group = heads if kind == "paged-layer" else 1
    tensors = built.tensors()
    assert tensors["keys"].shape == tensors["values"].shape == (total, page, group, dim)
    for b, tables in enumerate(held):
        for t, pages in enumerate(tables):
            used = built.table_bhm[b, t, : len(pages)].long()
            assert (built.firsts_n[used] // page).tolist() == pages
            whole = sum(min(page, length - n * page) for n in pages)
            assert built.lengths_bh[b, t] == whole
            for at, n in zip(used, pages):
                stop = min(page, length - n * page)
                rows = slice(n * page, n * page + stop)
                expected = keys[b, readers[b][t], rows].transpose(0, 1)
                assert torch.equal(built.keys_npgd[at, :stop], expected)
    # Another pointer a page and another count a table are all the bookkeeping there is.
    entries = 2 * total * page * group * dim * 4
    table = built.table_bhm.numel() * 4 + built.lengths_bh.numel() * 4 + total * 4
    seen = total * page * group if "seen" in tensors else 0
    assert account.storage_bytes(tensors.values()) == entries + table + seen


def serving_attention(query_hd, key_cache, value_cache, block_table, seq_len):
    """One query token of one sequence, as paged engines define it, in float64.

    Entry i of the sequence is slot i % P of page block_table[i // P]; query head h
    reads KV head h // R; everything below seq_len is attended to.
    """
    page, kv_heads = key_cache.shape[1:3]
    heads, dim = query_hd.shape
    out = torch.zeros(heads, dim, dtype=torch.float64)
    for h in range(heads):
        k = h // (heads // kv_heads)
        where = [(int(block_table[i // page]), i % page) for i in range(seq_len)]
        keys = torch.stack([key_cache[n, slot, k] for n, slot in where]).double()
        values = torch.stack([value_cache[n, slot, k] for n, slot in where]).double()
        out[h] = (keys @ query_hd[h].double() * dim**-0.5).softmax(0) @ values
    return out


@pytest.mark.parametrize("kind", PAGED)
def test_an_engine_that_knows_only_pool_table_and_length_agrees(kind, generator):
    """Whole pages, the last one partial: no mask is needed and none is stored."""
    batch, heads, group, length, dim, page = 2, 2, 3, 43, 8, 8
    keys, values = torch.randn(2, batch, heads, length, dim, generator=generator)
    pages = torch.rand(batch, 1, 6, generator=generator) < 0.5
    pages[..., -1] = True  # of 3 tokens
    if kind == "paged":
        pages = torch.rand(batch, heads, 6, generator=generator) < 0.5
        pages[:, 0, -1] = pages[..., 0] = True
    kept = pages.repeat_interleave(page, -1)[..., :length].expand(-1, heads, -1)
    built = store.build(kind, keys, values, kept, page=page)
    assert built.seen_npg is None
    query = torch.randn(batch, heads * group, dim, generator=generator)
    empty = torch.zeros(batch * heads, group, 0), torch.zeros(batch * heads, 0, dim)
    scaled = (query * dim**-0.5).reshape(batch * heads, group, dim)
    ours = built.attend(scaled, *empty, None).reshape(batch, heads * group, dim)
    step = heads * group if kind == "paged-layer" else group
    for b in range(batch):
        for t in range(built.table_bhm.shape[1]):
            asked = slice(t * step, (t + 1) * step)
            theirs = serving_attention(query[b, asked], built.keys_npgd, built.values_npgd,
                                       built.table_bhm[b, t], int(built.lengths_bh[b, t]))
            # float32 sums of at most 43 products of numbers below 4
            torch.testing.assert_close(ours[b, asked].double(), theirs, atol=1e-5, rtol=0)


def test_a_shared_table_holds_the_union_of_its_heads():
    """PUR in bytes: heads that want the same pages cost nothing, disjoint ones K times."""
    keys = torch.zeros(1, 4, 64, 8)

    def entries(kind, kept):
        return store.build(kind, keys, keys, kept, page=16).keys_npgd.numel()

    same = torch.zeros(1, 4, 64, dtype=torch.bool)
    same[..., :16] = True
    own = torch.eye(4, dtype=torch.bool).repeat_interleave(16, 1)[None]
    assert entries("paged-layer", same) == entries("paged", same) == 4 * 16 * 8
    assert entries("paged", own) == 4 * 16 * 8
    assert entries("paged-layer", own) == 4 * entries("paged", own)


@pytest.mark.parametrize("kind", PAGED)
def test_pages_are_counted_from_where_the_text_begins(kind, generator):
    """A padded sequence holds the pages, and gives the output, of the same text alone."""
    keys, values = torch.randn(2, 1, 2, 21, 8, generator=generator)
    kept = torch.zeros(1, 2, 21, dtype=torch.bool)
    kept[..., 8:16] = True  # the second page of 8
    kept[..., 20] = True
    pad = torch.nn.functional.pad
    padded = store.build(kind, pad(keys, (0, 0, 3, 0)), pad(values, (0, 0, 3, 0)),
                         pad(kept, (3, 0)), page=8, starts=[3])
    alone = store.build(kind, keys, values, kept, page=8)
    assert padded.keys_npgd.shape == alone.keys_npgd.shape
    assert torch.equal(padded.positions(0, 1), alone.positions(0, 1) + 3)
    query, empty = torch.randn(2, 1, 8, generator=generator), torch.zeros(2, 1, 0)
    torch.testing.assert_close(
        padded.attend(query, empty, torch.zeros(2, 0, 8), None),
        alone.attend(query, empty, torch.zeros(2, 0, 8), None), rtol=0, atol=0)


@pytest.mark.parametrize("kind", PAGED)
def test_selecting_sequences_shares_the_pages(kind, generator):
    keys = torch.randn(2, 2, 40, 8, generator=generator)
    built = store.build(kind, keys, keys, torch.rand(2, 2, 40, generator=generator) < 0.3)
    beams = built.select(torch.tensor([1, 1, 0]))
    assert beams.keys_npgd is built.keys_npgd
    assert torch.equal(beams.positions(0, 1), built.positions(1, 1))
    assert torch.equal(beams.counts()[2], built.counts()[0])


@pytest.mark.parametrize("kind", PAGED)
def test_nothing_to_hold(kind):
    keys = torch.zeros(1, 2, 0, 8)
    built = store.build(kind, keys, keys, torch.zeros(1, 2, 0, dtype=torch.bool))
    assert built.counts().tolist() == [[0, 0]]


def test_what_is_refused():
    keys, kept = torch.zeros(1, 1, 4, 2), torch.ones(1, 1, 4, dtype=torch.bool)
    with pytest.raises(ValueError, match="page: 0"):
        store.build("paged", keys, keys, kept, page=0)
    with pytest.raises(ValueError, match="a paged store holds keys 0 .. S - 1"):
        store.build("paged", keys, keys, kept, torch.arange(4).expand(1, 1, 4))
