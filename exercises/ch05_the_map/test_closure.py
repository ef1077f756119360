"""Checks of ch05/closure."""

import statistics

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=1,
    title="Ratio, share and headroom",
    difficulty=1,
    minutes=15,
    hints=(
        "A rule makes an error of ten, and the best possible rule one of nine. Which "
        "share of the error can be saved? And if the rule makes no error at all?",
        "Divide only where the top-mass error is above 0, and write headroom as a "
        "product. The median of the ratios follows from the median of the shares.",
        "torch.where(top > 0, 1 - least / divisor, 0.0) with a divisor of 1 where top "
        "is 0; share.quantile(0.5) is the mean of the two in the middle.",
    ),
)

ROUNDING = 1e-12
"""float64: a quotient of order 1 rounds to 1e-16, a mean of some to 1e-15."""
PARTS = "median ratio", "mean share", "share of rows with headroom"


def tensor(*x):
    """A float64 tensor of numbers."""
    return torch.tensor(x, dtype=torch.float64)


def share(least, top):
    """The closable share of one row, in Python numbers."""
    return 1 - least / top if top > 0 else 0.0


def random_errors(seed, n):
    """Errors of n rows, some of them 0."""
    generator = torch.Generator().manual_seed(seed)
    top = torch.rand(n, generator=generator).double()
    least = top * (1 - torch.rand(n, generator=generator).double() ** 3)
    least[3], top[4], least[4] = 0.0, 0.0, 0.0
    return least, top


@check(points=1, likely="the share is 1 - E / e(A*).")
def test_shares(answer):
    """Shares by hand, in a table of rows"""
    least = torch.tensor([[9.0, 5.0, 4.0], [0.0, 1.0, 1e-9]], dtype=torch.float64)
    top = torch.tensor([[10.0, 5.0, 5.0], [3.0, 4.0, 2e-9]], dtype=torch.float64)
    want = torch.tensor([[0.1, 0.0, 0.2], [1.0, 0.75, 0.5]], dtype=torch.float64)
    mistakes = {
        "the share that remains is returned": 1 - want,
        "the error saved is not divided": top - least,
        "the ratio minus 1 is returned": top / least.clamp_min(1e-300) - 1,
    }
    got = answer.closable_share(least, top)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=1, likely="where the top-mass set has no error, nothing can be saved.")
def test_rows_without_error(answer):
    """Rows whose top-mass set has no error: no share, no headroom"""
    least, top = tensor(0.0, 0.0, 1.0), tensor(0.0, 2.0, 2.0)
    got = answer.closable_share(least, top)
    expect_same(got, tensor(0.0, 1.0, 0.5), tolerance=ROUNDING)
    want = torch.tensor([False, True, True])
    mistakes = {"a row without error counts": torch.tensor([True, True, True])}
    expect_same(answer.has_headroom(least, top), want, mistakes=mistakes)


@check(points=2, likely="headroom begins at E = 0.9 e(A*), that is at 1 / 0.9.")
def test_headroom(answer):
    """Rows around the limit: 9 of 10 counts, and 1.11 is not 1 / 0.9"""
    least = tensor(9.0, 9.005, 8.99, 10.0, 0.0, 9.05, 8.9e-6)
    top = tensor(10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1e-5)
    want = torch.tensor([True, False, True, False, True, False, True])
    mistakes = {
        "the limit is a ratio of 1.11": top > 1.11 * least,
        "the limit is a ratio of 1.1": top > 1.1 * least,
        "a tenth exactly does not count": least < 0.9 * top,
        "the errors differ by a tenth": top - least >= 0.1,
    }
    expect_same(answer.has_headroom(least, top), want, mistakes=mistakes)


@check(points=2, likely="medians and means are of shares, over all rows.")
def test_summary(answer):
    """Many rows: median, mean and headroom, of odd and even counts"""
    for seed, n in ((501, 11), (502, 40)):
        least, top = random_errors(seed, n)
        shares = [share(a, b) for a, b in zip(least.tolist(), top.tolist())]
        middle, lower = statistics.median(shares), statistics.median_low(shares)
        count = sum(
            b > 0 and a <= 0.9 * b for a, b in zip(least.tolist(), top.tolist())
        )
        want = 1 / (1 - middle), statistics.fmean(shares), count / n
        mistakes = {
            "rows without error are left out": (
                want[0],
                sum(shares) / (n - 1),
                count / n,
            ),
            "the mean share is taken for the median": (1 / (1 - want[1]), *want[1:]),
            "of two in the middle the lower is taken": (1 / (1 - lower), *want[1:]),
            "the share itself is returned for the ratio": (middle, *want[1:]),
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got, name = answer.summary(least, top), f"the summary of {n} rows"
        expect_same(
            got, want, tolerance=ROUNDING, mistakes=mistakes, name=name, parts=PARTS
        )
