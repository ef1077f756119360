"""Checks of ch11/mass_count."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=1,
    title="How many keys hold the mass",
    difficulty=1,
    minutes=15,
    hints=(
        "The mass of the k heaviest keys is at least 1 - eta when the mass of the others "
        "is at most eta. Which of the two sums is exact for a tiny eta?",
        "Sort the weights in ascending order and take cumulative sums: they say how much "
        "is lost by dropping the lightest 1, 2, ... keys.",
        "As many keys are kept as there are sums above eta. For the other function, count "
        "the visible keys first: weights of 0 are not in n.",
    ),
)


def by_fsum(logits, eta):
    """K_eta with Python floats, tails summed exactly."""
    top = max(logits)
    p = sorted((math.exp(x - top) for x in logits), reverse=True)
    total = math.fsum(p)
    return next(k for k in range(1, len(p) + 1) if math.fsum(p[k:]) <= eta * total)


def halves(count):
    """Weights 1/2, 1/4, ...: beyond k keys lie 2^-k of the mass, nearly."""
    return -math.log(2) * torch.arange(count, dtype=torch.float64)


@check(points=3, likely="count the keys that must stay, and look at which mass is left out.")
def test_counts(answer):
    """Rows by hand and at random"""
    third = torch.tensor([2.0, 0.0, 1.0, -1.0], dtype=torch.float64)
    cases = [(torch.zeros(4, dtype=torch.float64), 0.3), (third, 0.5), (third, 0.2)]
    generator = torch.Generator().manual_seed(1101)
    for eta in (0.7, 0.1, 0.01):
        cases.append((2 * torch.randn(60, dtype=torch.float64, generator=generator), eta))
    for logits, eta in cases:
        want = by_fsum(logits.tolist(), eta)
        mistakes = {
            "one key too few is kept": want - 1,
            "one key too many is kept": want + 1,
            "the keys hold eta and not 1 - eta": by_fsum(logits.tolist(), 1 - eta),
            "the keys that may go are counted": len(logits) - want,
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.mass_count(logits, eta)
        expect_same(got, want, mistakes=mistakes, name=f"K({eta})")


@check(points=2, likely="1 - 1e-14 leaves two digits; the sum of the light weights has all of them.")
def test_tiny_shares(answer):
    """Shares down to 1e-15"""
    logits = halves(300).flip(0)
    for k in (2, 10, 40, 49):
        # Between 2^-k and 2^-(k - 1): k keys suffice, k - 1 do not.
        got = answer.mass_count(logits, 1.5 * 2.0**-k)
        expect_same(got, k, name=f"K(1.5 * 2^-{k})")
        # A little less than what lies beyond k keys, so that one more has to stay.
        got = answer.mass_count(logits, (1 - 1e-9) * 2.0**-k)
        expect_same(got, k + 1, name=f"K(2^-{k}, less a billionth of it)")


@check(points=1, likely="a weight of 0 is no mass, and exp(10000) is no number.")
def test_invisible_and_large(answer):
    """Invisible keys, large logits, and every key with mass"""
    logits = torch.tensor([9999.0, -math.inf, 10000.0, 9998.0, -math.inf], dtype=torch.float64)
    for eta, want in ((0.0, 3), (0.5, 1), (0.2, 2)):
        got = answer.mass_count(logits, eta)
        expect_same(got, want, name=f"K({eta})")
    got = answer.mass_count(torch.tensor([-3.0], dtype=torch.float64), 0.9)
    expect_same(got, 1, name="the count of a single key")


@check(points=1, likely="1 is outside the legal range, 0 is inside.")
def test_shares(answer):
    """Shares outside [0, 1)"""
    logits = halves(5)
    for eta in (-0.1, 1.0, 1.5):
        expect_raises(answer.mass_count, logits, eta, mentions="eta")


@check(points=2, likely="n is the number of visible keys, and a weight of exactly 1 / ln n counts.")
def test_heavy(answer):
    """Weights of 1 / ln n or more"""
    generator = torch.Generator().manual_seed(1102)
    spread = torch.randn(400, dtype=torch.float64, generator=generator)
    few = torch.cat([halves(3), torch.full((9000,), -math.inf, dtype=torch.float64)])
    sink = torch.cat([spread, torch.tensor([7.0, 6.0], dtype=torch.float64)])
    for logits in (spread, few, sink, halves(50), halves(10_000)):
        p = logits.softmax(0).tolist()
        n = sum(x > 0 or math.isfinite(y) for x, y in zip(p, logits.tolist()))
        want = sum(x >= 1 / math.log(n) for x in p)
        mistakes = {
            "the keys that hold 90% are counted": by_fsum(logits.tolist(), 0.1),
            "invisible keys are in n": sum(x >= 1 / math.log(len(p)) for x in p),
            "weights are compared with 1 / n": sum(x >= 1 / n for x in p),
            "the logarithm is to base 2": sum(x >= 1 / math.log2(n) for x in p),
            "weights are counted in units of the largest": sum(
                x >= max(p) / math.log(n) for x in p
            ),
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.heavy_count(logits)
        expect_same(got, want, mistakes=mistakes, name="the count of heavy weights")
