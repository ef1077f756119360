"""Checks of ch19/habit."""

import math

import torch
from scipy.optimize import minimize

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=2,
    title="Habits taken for knowledge",
    difficulty=2,
    minutes=20,
    hints=(
        "Write down the stationarity condition of both actions and subtract. What is the "
        "softmax of two actions with the same Q?",
        "R_a - R_b = c s (1/p_a - 1/p_b) with s = 1/2. For small rewards count the trials "
        "of an action over the mean count of its state.",
        "e = count / mean count - 1, row by row; the choice is argmax of R + c e, and the "
        "harmless c is spread / (max e - min e).",
    ),
)


def conservative(mean, share, c):
    """The choice at the minimum of J, by a general minimiser: whether 0 beats 1."""

    def j(q):
        top = max(q)
        total = top + math.log(sum(math.exp(x - top) for x in q))
        return sum(
            p * (c * (total - x) + (x - r) ** 2 / 2) for x, r, p in zip(q, mean, share)
        )

    found = minimize(j, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    return found[0] > found[1]


@check(points=2, likely="two equal Q share the softmax: one half each.")
def test_break_even(answer):
    """A little more than the advantage wins, a little less loses"""
    for rare, c in ((0.1, 0.75), (0.3, 0.75), (0.45, 0.1), (0.05, 0.02)):
        # By bisection on the choice of a general minimiser.
        low, high = 0.0, 2 * c / rare
        for _ in range(26):
            middle = (low + high) / 2
            wins = conservative((middle, 0.0), (rare, 1 - rare), c)
            low, high = (low, middle) if wins else (middle, high)
        mistakes = {
            "the softmax is taken as 1": 2 * middle,
            "only the rare action is pushed": c / 2 / rare,
            "the share is compared with an even one": c * (0.5 - rare),
        }
        got = answer.break_even(rare, c)
        name = f"the result for a share of {rare}, c = {c}"
        # BFGS with numerical gradients sees a difference of about 1e-6.
        expect_same(got, middle, tolerance=1e-4, mistakes=mistakes, name=name)
    expect_same(answer.break_even(0.5, 0.75), 0.0, tolerance=1e-12)
    for wrong in (0.0, 0.6, -0.1, 1.0):
        expect_raises(answer.break_even, wrong, 0.75, mentions="rare")


@check(points=3, likely="e compares an action with the mean action of its own state.")
def test_habit(answer):
    """The choice in states with few and with many trials"""
    count = torch.tensor(
        [[100, 100, 100], [90, 110, 100], [0, 2, 1], [9900, 10000, 10100]],
        dtype=torch.float64,
    )
    mean = torch.tensor(
        [[0.3, 0.1, 0.2], [0.16, 0.0, 0.05], [5.0, 0.0, 0.4], [0.012, 0.0, 0.0]],
        dtype=torch.float64,
    )
    cases = (
        # e of the states: 0; -.1 .1 0; -1 1 0; -.01 0 .01.
        (0.0, [0, 0, 0, 0]), (0.75, [0, 0, 0, 2]), (1.0, [0, 1, 0, 2]),
        (0.5, [0, 0, 0, 0]), (3.0, [0, 1, 1, 2]), (0.7, [0, 0, 0, 2]),
    )
    for c, want in cases:
        want = torch.tensor(want)
        shares = count / count.sum(1, keepdim=True)
        mistakes = {
            "trials are taken as shares of the state": (mean + c * shares).argmax(1),
            "trials are compared with the mean of all states": (
                mean + c * (count / count.mean() - 1)
            ).argmax(1),
            "rarity is rewarded": (
                mean - c * (count / count.mean(1, keepdim=True) - 1)
            ).argmax(1),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        given = count.clone(), mean.clone()
        got = answer.habit(*given, c)
        expect_same(got, want, mistakes=mistakes, name=f"the result for c = {c}")
        expect_same(given, (count, mean), name="your arguments after the call")


@check(points=2, likely="the push reaches from the smallest to the largest e.")
def test_harmless(answer):
    """The largest c that leaves the rewards as much say as the habits"""
    for count, spread, want in (
        ([90.0, 110.0, 100.0], 0.01, 0.05),
        ([1.0, 3.0], 2.0, 2.0),
        ([9000.0, 11000.0, 10000.0], 0.01, 0.05),
        ([0.0, 5.0, 1.0, 2.0], 0.5, 0.2),
    ):
        given = torch.tensor(count, dtype=torch.float64)
        got = answer.harmless(given, spread)
        e = [x / (sum(count) / len(count)) - 1 for x in count]
        mistakes = {
            "only the most tried action counts": spread / max(e),
            "the push is counted in trials": spread / (max(count) - min(count)),
            "it is the push of c = 1": max(e) - min(e),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        expect_same(
            got, want, tolerance=1e-12, mistakes=mistakes, name=f"the result for {count}"
        )
    even = answer.harmless(torch.full((4,), 7.0, dtype=torch.float64), 0.1)
    expect(even == math.inf, f"an even log pushes nothing: need infinity, got {even}")
