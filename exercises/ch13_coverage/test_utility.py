"""Checks of ch13/utility."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=1,
    title="How much a key is asked for",
    difficulty=1,
    minutes=15,
    hints=(
        "Two things are averaged and two are maximised. Which axis is which?",
        "Split H into (kv_heads, R). The mean is over the largest entries of the R "
        "axis, at most four; the maximum is over groups and rows.",
        "reshape(kv_heads, R, T, S).topk(min(most, R), dim=1).values.mean(1), then "
        "amax over (0, 1); torch.where keeps what is finite.",
    ),
)


def logits(seed, heads, rows, length, first=None):
    """Causal logits: row t sees keys up to first + t, all if first is None."""
    generator = torch.Generator().manual_seed(seed)
    x = 3 * torch.randn(heads, rows, length, generator=generator, dtype=torch.float64)
    if first is not None:
        future = torch.arange(length) > torch.arange(rows)[:, None] + first
        x = x.masked_fill(future, -torch.inf)
    return x


def loops(x, kv_heads, most):
    """The definition, one key at a time."""
    size = len(x) // kv_heads
    want = []
    for i in range(x.shape[2]):
        said = []
        for t in range(x.shape[1]):
            for k in range(kv_heads):
                group = sorted(x[k * size : (k + 1) * size, t, i].tolist())[::-1]
                best = group[: min(most, size)]
                said.append(sum(best) / len(best))
        want.append(max(said))
    least = min(value for value in want if value > -torch.inf)
    want = [value if value > -torch.inf else least for value in want]
    return torch.tensor(want, dtype=torch.float64)


ROUNDING = 1e-12
"""Means of a few float64 numbers below 20."""


@check(points=2, likely="the mean is within a group, the maximum over groups and rows.")
def test_groups(answer):
    """Groups of three, four rows, all keys visible"""
    x = logits(131, 6, 4, 9)
    want = loops(x, 2, 4)
    mistakes = {
        "heads are maximised, not averaged": x.amax((0, 1)),
        "rows are averaged": x.view(2, 3, 4, 9).mean(1).mean(1).amax(0),
        "groups are averaged": x.view(2, 3, 4, 9).mean(1).amax(1).mean(0),
        "head h belongs to group h % K": x.view(3, 2, 4, 9).mean(0).amax((0, 1)),
    }
    got = answer.utility(x, 2)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="of a larger group only the largest four logits count.")
def test_large_groups(answer):
    """Six heads a group: the four largest; with most=2, the two largest"""
    x = logits(132, 12, 3, 8)
    mistakes = {"the whole group is averaged": loops(x, 2, 6)}
    got = answer.utility(x, 2)
    expect_same(got, loops(x, 2, 4), tolerance=ROUNDING, mistakes=mistakes)
    got = answer.utility(x, 2, most=2)
    expect_same(got, loops(x, 2, 2), tolerance=ROUNDING, name="utility, most=2")
    got = answer.utility(x, 12)
    expect_same(got, x.amax((0, 1)), tolerance=ROUNDING, name="utility, R = 1")


@check(points=2, likely="a key that some row sees takes no part of -inf from others.")
def test_causal(answer):
    """Rows that do not see a key, and keys that no row sees"""
    x = logits(133, 6, 5, 12, first=3)  # the last four keys are in no row
    want = loops(x, 2, 4)
    everything = x.clone()
    everything[x.isinf()] = 0
    mistakes = {
        "the invisible counts as 0": loops(everything, 2, 4),
        "unseen keys get 0": torch.where(x.amax((0, 1)).isfinite(), want, 0.0),
        "unseen keys get the largest utility": torch.where(
            x.amax((0, 1)).isfinite(), want, want.max()
        ),
    }
    got = answer.utility(x, 2)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
