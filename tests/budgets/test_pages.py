"""Page budgets: exact totals for page sizes 1 to 64 and lengths that are no multiples."""

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from kvteach.budgets import pages
from kvteach.budgets.pages import WholePages
from kvteach.rows import unions

PAGE = st.integers(1, 64)


@st.composite
def models(draw, last=True):
    """(scores, entries, page): L tensors [K, S]; the last key must stay if ``last``."""
    layers, heads = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    length, page = draw(st.integers(1, 150)), draw(PAGE)
    g = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    levels = draw(st.sampled_from([2, 1000]))
    scores = torch.randint(levels, (layers, heads, length), generator=g) / levels
    if last:
        scores[..., -1] = math.inf
    return list(scores), draw(st.integers(0, length)), page


def least_entries(length, page, last):
    """What the last page takes if it must stay."""
    return (length - 1) % page + 1 if last else 0


def call(rule, scores, entries):
    """As the engine calls: layer after layer. [L, K, S] bool."""
    return torch.stack([rule([score], entries, [i], len(scores))[0]
                        for i, score in enumerate(scores)])


@pytest.mark.parametrize("last", [True, False])
@given(data=st.data())
def test_budget_as_accounted(last, data):
    scores, entries, page = data.draw(models(last))
    layers, (heads, length) = len(scores), scores[0].shape
    assume(entries >= least_entries(length, page, last))
    kept = call(WholePages(page), scores, entries)
    made = pages.account(entries, length, page, layers, heads, last)
    total = int(kept.sum())
    assert made.least <= total <= made.most <= layers * heads * entries
    assert made.unused == layers * heads * entries - made.most
    if last or length % page == 0:
        assert made.least == made.most == total
        assert 0 <= made.unused < heads * page
    whole = unions.pages_of(kept, page)
    assert torch.equal(pages.keys_of(whole, length, page), kept)  # whole pages only
    assert (whole.sum(-1) == made.pages_l[:, None]).all()
    assert made.pages_l.max() - made.pages_l.min() <= 1
    # The query heads of a group share what their KV head keeps: UOR is exactly 1.
    shared = kept[:, :, None].expand(-1, -1, 6, -1)
    some = kept.any(-1)
    assert (unions.union_overhead(shared[some]) == 1).all()


@given(data=st.data())
def test_best_pages_against_a_sort(data):
    scores, entries, page = data.draw(models())
    length = scores[0].shape[-1]
    assume(least_entries(length, page, True) <= entries < length)
    kept = call(WholePages(page), scores, entries)
    counts = pages.pages_per_layer(entries, length, page, len(scores), True)
    for score, count, masks in zip(scores, counts.tolist(), kept):
        for row, mask in zip(score.tolist(), masks):
            worth = [max(row[n : n + page]) for n in range(0, length, page)]
            best = sorted(range(len(worth)), key=lambda n: (-worth[n], n))[:count]
            want = {j for n in best for j in range(n * page, min(n * page + page, length))}
            assert set(mask.nonzero()[:, 0].tolist()) == want


@given(st.integers(1, 40), st.integers(1, 500), PAGE, st.data())
def test_hamilton(depth, length, page, data):
    """Largest remainder by hand, in whole numbers; exact wherever pages divide the sum."""
    entries = data.draw(st.integers(0, length - 1))
    shares = pages.pages_per_layer(entries, length, page, depth)
    total = depth * entries // page
    assert shares.sum() == total
    base, more = divmod(total, depth)
    assert shares.tolist() == [base + 1] * more + [base] * (depth - more)
    assert shares.max() <= -(-length // page)
    exact = int(shares.sum()) * page == depth * entries
    assert exact == (depth * entries % page == 0)


def test_published_case():
    """35,000 tokens, 32 layers, 8 KV heads, 16 a page: 17 layers of 9 pages, 15 of 8."""
    shares = pages.pages_per_layer(35_000 / (32 * 8), 4096, 16, 32)
    assert shares.tolist() == [9] * 17 + [8] * 15
    made = pages.account(35_000 / (32 * 8), 4096, 16, 32, 8)
    assert (made.least, made.most, made.unused) == (34_944, 34_944, 56)


def test_a_partial_page_is_paid_for_with_its_true_length():
    """S = 21, pages of 8: the last has 5. Budget 13 = 5 + 8, nothing is wasted."""
    score = torch.arange(21.0).flip(0)[None].clone()
    score[0, -1] = math.inf
    kept, = WholePages(8)([score], 13, [0], 1)
    assert kept[0].nonzero()[:, 0].tolist() == [*range(8), *range(16, 21)]
    assert pages.account(13, 21, 8, 1, 1, last_stays=True).unused == 0
    assert pages.page_lengths(21, 8).tolist() == [8, 8, 5]


def test_mean_buries_a_needle_and_max_does_not():
    """The published arithmetic: .95 / 16 = .0594 loses against sixteen keys of .06."""
    score = torch.zeros(1, 32)
    score[0, 3], score[0, 16:] = 0.95, 0.06
    assert pages.page_scores(score, 16, "mean")[0].tolist() == pytest.approx([0.0594, 0.06],
                                                                            abs=1e-4)
    by_max, = WholePages(16)([score], 16, [0], 1)
    by_mean, = WholePages(16, project="mean")([score], 16, [0], 1)
    assert by_max[0, 3] and not by_mean[0, 3]


@given(st.integers(1, 100), PAGE, st.integers(0, 2**31))
def test_projections(length, page, seed):
    g = torch.Generator().manual_seed(seed)
    score = torch.randn(2, length, generator=g)  # negative scores are scores too
    parts = score.split(page, -1)
    torch.testing.assert_close(pages.page_scores(score, page),
                               torch.stack([p.amax(-1) for p in parts], -1), atol=0, rtol=0)
    torch.testing.assert_close(pages.page_scores(score, page, "mean"),
                               torch.stack([p.mean(-1) for p in parts], -1))


def test_forced_keys_go_first_or_are_an_error():
    score = torch.rand(2, 40, generator=torch.Generator().manual_seed(1))
    score[:, [3, 39]] = math.inf
    kept, = WholePages(8)([score], 16, [0], 1)
    assert kept[0].nonzero()[:, 0].tolist() == [*range(8), *range(32, 40)]
    for project in pages.PROJECTIONS:
        rule = WholePages(8, project)
        with pytest.raises(ValueError, match=r"layer 0 1 pages of 8, where 2 must stay; legal "
                                             r"are 16 \.\. 40"):
            rule([score], 15, [0], 1)
        assert rule([score], 16, [0], 1)[0][:, [3, 39]].all()


def test_what_is_refused():
    for wrong in (0, -1, 2.0, True):
        with pytest.raises(ValueError, match="page: .*whole numbers 1 and above"):
            WholePages(wrong)
    with pytest.raises(ValueError, match="project: 'median'"):
        WholePages(project="median")
    with pytest.raises(ValueError, match="entries: 41; legal are 0 .. 40"):
        pages.pages_per_layer(41, 40, 8, 2)
