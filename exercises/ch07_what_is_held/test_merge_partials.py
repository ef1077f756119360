"""Checks of ch07/merge_partials."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=4,
    title="Attention in pieces",
    difficulty=2,
    minutes=25,
    hints=(
        "Two classes have mean marks of 2 and 4. What must you know beside the means "
        "to say what the mean of all pupils is?",
        "A piece counts by the sum of its exponentials, exp(lse). These may be too "
        "large or too small for a float; their ratios are not.",
        "lses.softmax(0) is exp(lse_c - lse) and safe; nan_to_num(0.0) mends the case "
        "that every piece is empty. The new log-sum-exp is lses.logsumexp(0).",
    ),
)

PARTS = "output", "log-sum-exp"
ROUNDING = 1e-12
"""float64 sums of at most 30 terms of order 1 round to about 1e-15."""


def random_case(seed, keys, rows=2, dim=3, spread=2.0, level=0.0):
    """Logits [X, n] and values [n, D]."""
    g = torch.Generator().manual_seed(seed)
    logits = spread * torch.randn(rows, keys, generator=g, dtype=torch.float64) + level
    return logits, torch.randn(keys, dim, generator=g, dtype=torch.float64)


def whole(logits, values):
    """Output and log-sum-exp in Python numbers; 0 and -inf over no keys."""
    outs, lses = [], []
    for row in logits.tolist():
        top = max(row, default=0.0)
        weights = [math.exp(x - top) for x in row]
        total = math.fsum(weights)
        columns = values.T.tolist()
        outs.append([
            math.fsum(w * x for w, x in zip(weights, column)) / (total or 1.0)
            for column in columns
        ])  # fmt: skip
        lses.append(top + math.log(total) if row else -math.inf)
    return (
        torch.tensor(outs, dtype=torch.float64).reshape(len(logits), values.shape[1]),
        torch.tensor(lses, dtype=torch.float64),
    )


def pieces(logits, values, sizes):
    """The pieces of the given sizes, [C, X, D] and [C, X]."""
    parts = zip(logits.split(sizes, 1), values.split(sizes))
    outs, lses = zip(*(whole(*part) for part in parts))
    return torch.stack(outs), torch.stack(lses)


@check(points=1, likely="lse is the logarithm of the softmax denominator.")
def test_partial(answer):
    """One piece"""
    logits, values = random_case(731, 6)
    want = whole(logits, values)
    top = logits.max(1).values
    mistakes = {
        "the sum of exponentials is returned, without the logarithm": (
            want[0],
            want[1].exp(),
        ),
        "the largest logit is returned": (want[0], top),
        "the output is not divided by the sum": (
            want[0] * want[1].exp()[:, None],
            want[1],
        ),
    }
    got = answer.partial(logits, values)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=2, likely="a piece counts by exp(lse), not by its number of keys.")
def test_merge(answer):
    """Three pieces of different sizes and levels"""
    logits, values = random_case(732, 12)
    logits[:, 4:6] += 3
    sizes = [4, 2, 6]
    outs, lses = pieces(logits, values, sizes)
    want = whole(logits, values)
    counts = torch.tensor(sizes).double()[:, None, None] / 12
    mistakes = {
        "every piece counts alike": (outs.mean(0), want[1]),
        "pieces count by their numbers of keys": ((outs * counts).sum(0), want[1]),
        "pieces count by lse, not by exp(lse)": (
            (outs * (lses / lses.sum(0))[..., None]).sum(0),
            want[1],
        ),
        "the log-sum-exps are added": (want[0], lses.sum(0)),
    }
    got = answer.merge(outs, lses)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=2, likely="exp(lse) overflows or vanishes; exp(lse_c - lse) does not.")
def test_extreme_levels(answer):
    """Logits around 2000, around -2000, and pieces of both"""
    for seed, level in ((733, 2000.0), (734, -2000.0)):
        logits, values = random_case(seed, 9, level=level)
        want = whole(logits, values)
        got = answer.merge(*pieces(logits, values, [5, 4]))
        # An lse of 2000 has a relative accuracy; the output loses 2000 * 2**-52.
        expect_same(got, want, tolerance=1e-10, parts=PARTS)
        got = answer.partial(logits, values)
        expect_same(got, want, tolerance=1e-10, parts=PARTS, name="the piece")
    logits, values = random_case(735, 8)
    logits[:, :3] -= 3000
    got = answer.merge(*pieces(logits, values, [3, 5]))
    expect_same(got, whole(logits, values), tolerance=ROUNDING, parts=PARTS)


@check(points=2, likely="a piece without keys has the weight exp(-inf) = 0.")
def test_empty_pieces(answer):
    """Pieces without keys, among others and alone"""
    logits, values = random_case(736, 7)
    got = answer.merge(*pieces(logits, values, [0, 3, 0, 4]))
    expect_same(got, whole(logits, values), tolerance=ROUNDING, parts=PARTS)
    nothing = logits[:, :0], values[:0]
    for got, name in (
        (answer.partial(*nothing), "the piece without keys"),
        (answer.merge(*pieces(*nothing, [0, 0])), "the merge of empty pieces"),
    ):
        expect(type(got) is tuple and len(got) == 2, f"{name} is no pair of tensors")
        zero = torch.zeros(2, 3, dtype=torch.float64)
        expect_same(got[0], zero, name=f"the output of {name}")
        empty = type(got[1]) is torch.Tensor and got[1].tolist() == [-math.inf] * 2
        expect(empty, f"the log-sum-exp of {name} is {got[1]}; need -inf for each row")


@check(points=1, likely="a merged piece is a piece: its log-sum-exp must be right.")
def test_merge_of_merges(answer):
    """Four pieces merged by twos, and the two merged again"""
    logits, values = random_case(737, 14)
    outs, lses = pieces(logits, values, [1, 6, 2, 5])
    first, second = answer.merge(outs[:2], lses[:2]), answer.merge(outs[2:], lses[2:])
    pair = torch.stack([first[0], second[0]]), torch.stack([first[1], second[1]])
    got = answer.merge(*pair)
    expect_same(got, whole(logits, values), tolerance=ROUNDING, parts=PARTS)
