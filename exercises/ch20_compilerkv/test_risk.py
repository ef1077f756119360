"""Checks of ch20/risk."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="Two risks, one look-up",
    difficulty=1,
    minutes=15,
    hints=(
        "What does a prompt bring along at run time, and which three indices does it "
        "choose? None of them needs the layer.",
        "The number of edges at or below a value is its bin. Nearest as a ratio: "
        "compare the larger of share / budget and budget / share.",
        "gate_blep[budget, :, entropy, perplexity]; torch.special.entr(p) is -p ln p "
        "and 0 at 0.",
    ),
)

ROUNDING = 1e-12
"""Sums of some ten float64 numbers of size 1."""


def draw(seed, *shape):
    """Positive numbers."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).exp()


@check(points=2, likely="scale alpha to sum 1 first; p ln p is 0 at p = 0.")
def test_risks(answer):
    """Entropy and perplexity"""
    for seed, length in ((218, 7), (219, 20)):
        alpha, nats = draw(seed, length), draw(seed + 50, 6)
        alpha[2] = 0.0
        total = alpha.sum().item()
        p = [a / total for a in alpha.tolist() if a > 0]
        entropy = -sum(x * math.log(x) for x in p)
        wanted = entropy, math.exp(sum(nats.tolist()) / 6)
        mistakes = {
            "entropy is counted in bits": (entropy / math.log(2), wanted[1]),
            "the mean of e^nats is taken": (entropy, nats.exp().mean().item()),
            "the perplexity stays in nats": (entropy, nats.mean().item()),
        }
        got = answer.risks(alpha, nats)
        parts = ("the entropy", "the perplexity")
        expect_same(got, wanted, tolerance=ROUNDING, mistakes=mistakes, parts=parts)


def case(seed):
    """A gate of 3 budgets, 4 layers, 3 entropy bins, 2 perplexity bins."""
    edges = torch.tensor([2.0, 3.0]).double(), torch.tensor([8.0]).double()
    return draw(seed, 3, 4, 3, 2), [0.5, 0.25, 0.1], edges


@check(points=2, likely="a bin's number is how many edges are at or below the value.")
def test_bins(answer):
    """Below, at and above every edge"""
    gate, budgets, edges = case(220)
    for entropy, i in ((1.0, 0), (2.0, 1), (2.5, 1), (3.0, 2), (9.0, 2)):
        for perplexity, j in ((2.0, 0), (8.0, 1), (30.0, 1)):
            got = answer.thresholds(gate, budgets, edges, 0.25, (entropy, perplexity))
            expect_same(got, gate[1, :, i, j])


@check(points=1, likely="nearest as a ratio: .17 is nearer to .25 than to .1.")
def test_budget(answer):
    """The nearest compiled budget"""
    gate, budgets, edges = case(221)
    for share, b in (
        (0.9, 0), (0.36, 0), (0.34, 1), (0.17, 1), (0.15, 2), (0.01, 2)
    ):  # fmt: skip
        got = answer.thresholds(gate, budgets, edges, share, (2.5, 5.0))
        want = gate[b, :, 1, 0]
        plain = min(range(3), key=lambda i: abs(budgets[i] - share))
        mistakes = {"the difference is compared": gate[plain, :, 1, 0]}
        mistakes = {} if plain == b else mistakes
        expect_same(got, want, mistakes=mistakes)
