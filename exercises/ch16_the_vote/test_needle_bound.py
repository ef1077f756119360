"""Checks of ch16/needle_bound."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=3,
    title="What the vote promises a needle",
    difficulty=2,
    minutes=25,
    hints=(
        "What is left to the needle depends on eps and on how large D is beside C. Does it "
        "depend on both numbers, or only on their quotient?",
        "Work with ln(D / C) from the start: torch.logsumexp of slack / tau, then add and "
        "subtract the rest. For the length, solve floor = wanted for D / C.",
        "floor = (1 - eps) * sigmoid(-ln(D / C)). The promise holds from "
        "ln(length - sinks) = eta + tau * (logsumexp(slack / tau) - ln((1 - eps) / wanted - 1)); "
        "round up, at least one key.",
    ),
)

ROUNDING = 1e-11
"""A few logarithms and exponentials of float64 numbers up to about 100."""


def slacks(*values):
    return torch.tensor(values, dtype=torch.float64)


def by_hand(eps, eta, slack, length, tau, sinks):
    """The formula as it is printed."""
    own = math.exp(-eta / tau)
    others = sum(math.exp(c / tau) * (length - sinks) ** (-1 / tau) for c in slack)
    return (1 - eps) - (1 - eps) * others / (own + others)


CASES = (
    (0.05, math.log(2), (0.0,) * 7, 4096, 0.5, 4),
    (0.1, 0.3, (0.5, 1.2), 1000, 0.5, 4),
    (0.3, 1.0, (2.0, 3.0, 0.1), 64, 1.0, 1),
    (0.0, 2.0, (4.0,), 200, 2.0, 0),
)


@check(points=3, likely="D belongs to the other heads, C to the one with the needle.")
def test_floor(answer):
    """Four groups, by the formula"""
    for eps, eta, slack, length, tau, sinks in CASES:
        floor = by_hand(eps, eta, slack, length, tau, sinks)
        ceiling = (1 - eps) / (len(slack) + 1)
        lost = (1 - eps) - floor
        mistakes = {
            "what is lost is returned, not what is left": (lost, ceiling),
            "sinks count among the keys": (
                by_hand(eps, eta, slack, length + sinks, tau, sinks), ceiling),
            "the retrieval head is left out of R": (floor, (1 - eps) / len(slack)),
            "floor and ceiling are exchanged": (ceiling, floor),
        }
        mistakes = {k: x for k, x in mistakes.items()
                    if max(abs(x[0] - floor), abs(x[1] - ceiling)) > 1e-8}
        got = answer.promised(eps, eta, slacks(*slack), length, tau, sinks)
        expect_same(got, (floor, ceiling), tolerance=ROUNDING, mistakes=mistakes,
                    parts=("floor", "ceiling"))


@check(points=1, likely="a sum over no heads is 0; its logarithm is minus infinity.")
def test_alone(answer):
    """A group of one: nothing is lost"""
    got = answer.promised(0.2, 0.5, slacks(), 100, 0.5, 4)
    expect_same(got, (0.8, 0.8), tolerance=ROUNDING, parts=("floor", "ceiling"))


@check(points=2, likely="exponentials of several hundred overflow; stay in logarithms.")
def test_low_temperature(answer):
    """tau = 0.002: powers far outside float64"""
    length = 4 + 1000
    for eta, slack, floor in ((1.0, 2.0, 0.9), (5.5, 2.0, 0.0), (math.log(1000) - 2, 2.0, 0.45)):
        got = answer.promised(0.1, eta, slacks(slack), length, 0.002, 4)
        expect_same(got, (floor, 0.45), tolerance=1e-9, parts=("floor", "ceiling"))


@check(points=3, likely="the smallest length: one token less must not be enough.")
def test_shortest(answer):
    """The promise holds there, and not a token before"""
    for eps, eta, slack, wanted, tau in (
        (0.1, 0.3, (0.5, 1.2), 0.8, 0.5),
        (0.05, 0.7, (0.0,) * 7, 0.949, 0.5),
        (0.2, 1.5, (2.0, 0.3, 1.0), 0.5, 1.0),
        (0.1, 0.0, (0.0, 0.0), 0.85, 2.0),
    ):
        got = answer.shortest_length(eps, eta, slacks(*slack), wanted, tau, 4)
        expect(type(got) is int, f"the length is {got!r}; need an int")
        expect(got > 4, f"the length is {got}; there are 4 sinks")
        here = by_hand(eps, eta, slack, got, tau, 4)
        expect(here >= wanted - 1e-12,
               f"with {got} tokens the floor is {here:.6g}; {wanted} was wanted")
        if got > 5:
            before = by_hand(eps, eta, slack, got - 1, tau, 4)
            expect(before < wanted + 1e-12,
                   f"{got - 1} tokens would be enough: their floor is {before:.6g}, "
                   f"{wanted} was wanted")
    # So little is wanted that one key is enough.
    got = answer.shortest_length(0.1, 0.0, slacks(0.0), 0.3, 0.5, 4)
    expect_same(got, 5)


@check(points=1, likely="what the needle has is never promised in full.")
def test_too_much(answer):
    """More than the needle has: ValueError"""
    for wanted in (0.9, 0.95):
        expect_raises(answer.shortest_length, 0.1, 0.3, slacks(0.5), wanted, 0.5, 4,
                      mentions="wanted")
