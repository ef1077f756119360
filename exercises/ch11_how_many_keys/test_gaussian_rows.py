"""Checks of ch11/gaussian_rows."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=3,
    title="Rows that look for nothing",
    difficulty=2,
    minutes=20,
    hints=(
        "Weighting a Gaussian by e^logit moves its mean by sigma squared. Which share of the "
        "keys, and which share of the mass, lies above a level?",
        "The first function is one formula of the chapter, the second is it solved for "
        "sigma. For the third: of the others' mass, how much may be missing?",
        "The others hold 1 - sink of the row, and eta of the row may be missing, all of it "
        "theirs. So they are a row of their own with the share eta / (1 - sink).",
    ),
)

ROUNDING = 1e-9
"""Normal quantiles agree to about 1e-12 between implementations."""


def phi(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def quantile(p):
    """Phi^-1 by bisection."""
    low, high = -12.0, 12.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if phi(middle) < p else (low, middle)
    return (low + high) / 2


def share(sigma, eta):
    return phi(quantile(1 - eta) - sigma)


@check(points=3, likely="sigma is subtracted once, inside the distribution function.")
def test_share(answer):
    """The share of keys, by quantiles and by drawing rows"""
    expect_same(round(answer.share_needed(1.0, 0.1), 4), 0.6109, name="the share, rounded")
    for sigma, eta in ((0.0, 0.3), (0.5, 0.02), (2.0, 0.1), (3.0, 0.6)):
        want = share(sigma, eta)
        mistakes = {
            "sigma squared is subtracted": phi(quantile(1 - eta) - sigma**2),
            "sigma is added": phi(quantile(1 - eta) + sigma),
            "eta is the mass that is held": share(sigma, 1 - eta),
            "it is the share of keys that may go": 1 - want,
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        got = answer.share_needed(sigma, eta)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    generator = torch.Generator().manual_seed(1120)
    p = (1.5 * torch.randn(400_000, dtype=torch.float64, generator=generator)).softmax(0)
    ascending = p.sort().values.cumsum(0)
    drawn = float((ascending > 0.2).double().mean())
    # 400,000 draws: the share is known to about a thousandth.
    expect_same(answer.share_needed(1.5, 0.2), drawn, tolerance=5e-3, name="a drawn row's share")


@check(points=2, likely="a share of at least 1 - eta needs no spread, and sigma is not negative.")
def test_sigma(answer):
    """The spread for which a budget is enough"""
    for budget, eta in ((0.1, 0.1), (0.02, 0.05), (0.5, 0.3), (0.001, 0.5)):
        want = quantile(1 - eta) - quantile(budget)
        got = answer.sigma_needed(budget, eta)
        expect_same(got, want, tolerance=ROUNDING, name=f"sigma for {budget:.1%} of the keys",
                    mistakes={"the budget stands for eta": -want,
                              "it is squared": want**2})
    for budget, eta in ((0.9, 0.1), (0.95, 0.1), (0.999, 0.5)):
        got = answer.sigma_needed(budget, eta)
        expect_same(got, 0.0, tolerance=ROUNDING, name=f"sigma for {budget:.1%} of the keys")
    for budget in (0.0, 1.0, -0.2, 1.5):
        expect_raises(answer.sigma_needed, budget, 0.1, mentions="share")


@check(points=3, likely="what may be missing is a share of the row; the others hold only 1 - sink of it.")
def test_sink(answer):
    """One key that holds much of the mass"""
    for sigma, eta, sink in ((1.0, 0.1, 0.0), (1.0, 0.1, 0.5), (0.5, 0.2, 0.7), (2.0, 0.05, 0.9)):
        want = share(sigma, eta / (1 - sink))
        mistakes = {
            "the sink is ignored": share(sigma, eta),
            "the mass that is held is divided": share(sigma, 1 - (1 - eta) * (1 - sink)),
            "the sink's mass may be missing, too": share(sigma, min(eta + sink, 0.999999)),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        got = answer.share_beside_sink(sigma, eta, sink)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    # Drawn: a sink of 60% over Gaussian keys, 15% may be missing.
    generator = torch.Generator().manual_seed(1121)
    others = 0.4 * torch.randn(400_000, dtype=torch.float64, generator=generator).softmax(0)
    drawn = float((others.sort().values.cumsum(0) > 0.15).double().mean())
    got = answer.share_beside_sink(1.0, 0.15, 0.6)
    expect_same(got, drawn, tolerance=5e-3, name="the share beside a drawn row's sink")


@check(points=1, likely="the sink alone may be enough.")
def test_sink_alone(answer):
    """A sink that holds all that is asked for"""
    for eta, sink in ((0.1, 0.95), (0.25, 0.75), (0.5, 0.9)):
        got = answer.share_beside_sink(1.3, eta, sink)
        expect_same(got, 0.0, tolerance=ROUNDING, name="the share beside a large sink")
