"""Checks of ch16/head_vote."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=2,
    title="Votes, and what they agree on",
    difficulty=2,
    minutes=25,
    hints=(
        "Should a head of low entropy get much weight or little? What is left of the "
        "differences between heads when they are divided by infinity?",
        "At tau = 0 the division fails: find the heads that have the least entropy. In "
        "pooled, compute both candidates, the mixture and the maximum, and choose by group.",
        "vote: (-entropy / tau).softmax(1), with a branch for 0. pooled: votes [:, :, None] "
        "times rows, sum over heads; torch.where on largest minus least entropy. tau_for: "
        "w / (1 - w) = exp(gap / tau).",
    ),
)

ROUNDING = 1e-12
"""A softmax over a few numbers, in float64."""


def entropies(seed, groups=4, heads=3):
    """Between 0 and 7 nats, [G, R]."""
    generator = torch.Generator().manual_seed(seed)
    return 7 * torch.rand(groups, heads, generator=generator, dtype=torch.float64)


def masses(seed, groups=4, heads=3, length=12):
    """Rows of sum 1, [G, R, S]."""
    generator = torch.Generator().manual_seed(seed)
    mass = torch.rand(groups, heads, length, generator=generator, dtype=torch.float64)
    return mass / mass.sum(2, keepdim=True)


def votes(entropy, tau):
    """The definition, with lists."""
    found = []
    for row in entropy.tolist():
        powers = [math.exp(-(h - min(row)) / tau) for h in row]
        found.append([x / sum(powers) for x in powers])
    return torch.tensor(found, dtype=torch.float64)


@check(points=2, likely="low entropy means a large vote; tau divides.")
def test_votes(answer):
    """Groups of three and six at five temperatures"""
    for seed, heads in ((1610, 3), (1611, 6)):
        entropy = entropies(seed, heads=heads)
        for tau in (0.1, 0.5, 1.0, 2.0, 50.0):
            want = votes(entropy, tau)
            mistakes = {
                "vague heads are trusted": votes(-entropy, tau),
                "the entropies are multiplied by tau": votes(entropy, 1 / tau),
                "the softmax runs over groups": votes(entropy.T, tau).T,
            }
            mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
            expect_same(answer.vote(entropy, tau), want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="infinity gives 1/R; 0 gives all to the least, shared by equals.")
def test_limits(answer):
    """tau infinite, tau 0, a tie at tau 0, tau tiny"""
    entropy = torch.tensor([[2.0, 1.0, 3.0], [1.5, 4.0, 1.5]], dtype=torch.float64)
    third = torch.full((2, 3), 1 / 3, dtype=torch.float64)
    expect_same(answer.vote(entropy, math.inf), third, tolerance=ROUNDING)
    want = torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]], dtype=torch.float64)
    first = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], dtype=torch.float64)
    mistakes = {"only the first of equals decides": first}
    expect_same(answer.vote(entropy, 0.0), want, tolerance=ROUNDING, mistakes=mistakes)
    expect_same(answer.vote(entropy, 1e-5), want, tolerance=ROUNDING)


@check(points=1, likely="check tau before it divides; NaN is not >= 0 either.")
def test_no_temperature(answer):
    """A negative tau, and NaN: ValueError"""
    for tau in (-0.5, math.nan):
        expect_raises(answer.vote, entropies(1612), tau, mentions="tau")


@check(points=3, likely="rows are mixed as they are; the fallback is chosen group by group.")
def test_pooled(answer):
    """Groups with different entropies beside a group where they coincide"""
    mass, entropy = masses(1613), entropies(1614)
    entropy[2] = 3.25 + torch.tensor([0.0, 4e-7, 9e-7], dtype=torch.float64)
    entropy[3] = 3.25 + torch.tensor([0.0, 1e-5, 0.0], dtype=torch.float64)
    weight = votes(entropy, 0.5)
    mixed = torch.stack([
        sum(weight[g, r] * mass[g, r] for r in range(3)) for g in range(4)
    ])
    want = mixed.clone()
    want[2] = mass[2].max(0).values
    mistakes = {
        "there is no fallback": mixed,
        "the fallback is for all groups": mass.max(1).values,
        "the fallback is the mean": torch.stack([mixed[0], mixed[1], mass[2].mean(0), mixed[3]]),
        "heads are not weighted": mass.mean(1),
    }
    mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
    got = answer.pooled(mass, entropy, 0.5)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    want = torch.stack([mass[g, int(entropy[g].argmin())] for g in (0, 1)])
    expect_same(answer.pooled(mass[:2], entropy[:2], 0.0), want, tolerance=ROUNDING)


@check(points=1, likely="a larger gap needs a higher temperature for the same vote.")
def test_tau_for(answer):
    """The temperature behind a vote of two"""
    for one, other, tau in ((2.0, 3.5, 0.5), (6.0, 1.0, 3.0), (0.1, 0.0, 0.7)):
        entropy = torch.tensor([one, other], dtype=torch.float64)
        wanted = votes(entropy[None], tau).max().item()
        expect_same(answer.tau_for(entropy, wanted), tau, tolerance=1e-9)
