"""What padding lets in: every head of a layer as wide as the widest."""

import torch

from kvteach.budgets.contour import ContourKV
from kvteach.budgets.widest import Widest


def test_each_head_gets_the_widest_count_and_its_own_best(generator):
    scores = list(torch.rand(4, 3, 50, generator=generator).cumsum(0))
    inner = ContourKV(floor=2)
    plain = inner(scores, 10, range(4), 4)
    wide = Widest(inner)(scores, 10, range(4), 4)
    assert sum(int(k.sum()) for k in wide) > sum(int(k.sum()) for k in plain) == 4 * 3 * 10
    for score, kept, before in zip(scores, wide, plain):
        widest = int(before.sum(-1).max())
        assert kept.sum(-1).tolist() == [widest] * 3
        for row, chosen in zip(score, kept):
            assert row[chosen].min() >= row[~chosen].max()


def test_equal_counts_stay_as_they_are(generator):
    from kvteach.budgets.uniform import Uniform

    scores = [torch.rand(3, 50, generator=generator)]
    assert torch.equal(Widest(Uniform())(scores, 7, [0], 1)[0], Uniform()(scores, 7, [0], 1)[0])
    assert Widest(Uniform()).scope == "layer" and Widest(ContourKV()).scope == "model"
