"""Checks of ch19/fixed_point."""

import torch
from scipy.special import lambertw

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="The table without training",
    difficulty=3,
    minutes=50,
    hints=(
        "q + push e^q rises with q. Which simple methods find where such a function has "
        "a given value, and where would you start?",
        "With y = log push + q the equation is y + e^y = wanted + log push: convex, so "
        "Newton's method from above converges: start at the total, or at its logarithm "
        "if it is above 1.",
        "For Z bisect log Z between min R and max R + c + log A: if the answers' logsumexp "
        "is above log Z, Z is too small. Each action has wanted = R + c, push = c / (p Z).",
    ),
)


@check(points=4, likely="e^q must not overflow on the way: work with log push + q.")
def test_one_action(answer):
    """One action by itself, against Lambert's function, also at the ends"""
    generator = torch.Generator().manual_seed(1940)
    wanted = torch.randn(4, 50, generator=generator, dtype=torch.float64) * 5
    wanted[0, :4] = torch.tensor([-50.0, 50.0, 50.0, -50.0])
    log_push = torch.randn(4, 50, generator=generator, dtype=torch.float64) * 5
    log_push[0, :4] = torch.tensor([-50.0, -50.0, 50.0, 50.0])
    push = log_push.exp()
    kept = wanted.clone(), push.clone()
    got = answer.one_action(wanted, push)
    want = wanted - torch.from_numpy(lambertw((push * wanted.exp()).numpy()).real)
    mistakes = {
        "the exponential is left out": wanted - push,
        "it is solved for push e^q": wanted - want,
        "it is solved for log push + q": want + log_push,
    }
    # y = log push + q has 1e-16 of numbers up to 100.
    expect_same(got, want, tolerance=1e-11, mistakes=mistakes)
    expect_same((wanted, push), kept, name="your arguments after the call")


def states(seed):
    """Random rewards and shares of 2 to 29 actions."""
    generator = torch.Generator().manual_seed(seed)
    for actions, c, scale in (
        (2, 0.75, 1.0), (5, 0.1, 0.01), (8, 3.0, 5.0), (29, 0.75, 0.01), (3, 0.01, 20.0)
    ):
        mean = scale * torch.randn(actions, generator=generator, dtype=torch.float64)
        share = torch.rand(actions, generator=generator, dtype=torch.float64) + 0.05
        yield mean, share / share.sum(), c


@check(points=4, likely="Z must be the sum of the answers, not a number chosen before.")
def test_fixed_point(answer):
    """The whole state: the equation holds and the logged mean is kept"""
    lucky = torch.tensor([0.9, 0.4, 0.3, 0.2], dtype=torch.float64)
    tried = torch.tensor([0.1, 0.3, 0.3, 0.3], dtype=torch.float64)
    for mean, share, c in [*states(1941), (lucky, tried, 0.75)]:
        kept = mean.clone(), share.clone()
        got = answer.fixed_point(mean, share, c)
        expect_same((mean, share), kept, name="your arguments after the call")
        name = f"the result for {len(mean)} actions, c = {c}"
        # Every Q lies between these, so a result of the right kind is compared below.
        expect_same(got, mean, tolerance=1e9, name=name)
        soft = [(x - got.max()).exp().item() for x in got]
        right = torch.tensor([
            r + c * (1 - s / sum(soft) / p)
            for r, s, p in zip(mean.tolist(), soft, share.tolist())
        ], dtype=torch.float64)
        # A share of 1/100 multiplies an error of 1e-12 by c / p.
        expect_same(got, right, tolerance=1e-8, name=f"R + c (1 - softmax / p) of {name}")
        off = abs((share * (got - mean)).sum().item())
        expect(off < 1e-8, f"sum p Q differs from sum p R by {off:.3g} in {name}")


@check(points=1, likely="an action without trials sinks for ever.")
def test_refused(answer):
    """A share of 0 is refused"""
    mean = torch.tensor([0.9, 0.4, 0.3], dtype=torch.float64)
    for share in ([0.5, 0.5, 0.0], [0.0, 1.0, 0.0]):
        share = torch.tensor(share, dtype=torch.float64)
        expect_raises(answer.fixed_point, mean, share, 0.75, mentions="share_a")
