"""Checks of ch13/rising_round."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=4,
    title="A round that never falls",
    difficulty=2,
    minutes=30,
    hints=(
        "Why can a step that goes uphill end up lower? Draw a concave function and "
        "its tangent.",
        "log w+ mixes two logarithms and softmax normalises them. For the round, "
        "compare F before the step with F after it, and halve from the same w.",
        "h = (x * torch.linalg.solve(sigma, x.T).T).sum(1); while objective(after) < "
        "objective(w): share /= 2. xlogy(w, w) is 0 at w = 0.",
    ),
)

ROUNDING = 1e-10
"""Sums of some dozen float64 terms of size 100, and 5 x 5 solves."""


def problem(seed, count=24, dim=5, duplicates=False):
    """Weights, utilities and centred keys."""
    generator = torch.Generator().manual_seed(seed)
    w = torch.randn(count, generator=generator, dtype=torch.float64).softmax(0)
    u = 2 * torch.randn(count, generator=generator, dtype=torch.float64)
    x = torch.randn(count, dim, generator=generator, dtype=torch.float64)
    if duplicates:
        x = x[torch.arange(count) % 3]
    x = x / x.norm(dim=1, keepdim=True)
    return w, u, x - x.mean(0)


def height(w, u, x, beta, tau):
    """F by a sum over keys and a determinant."""
    sigma = torch.eye(x.shape[1]).double()
    for weight, one in zip(w, x):
        sigma = sigma + weight * torch.outer(one, one)
    entropy = -sum(p * math.log(p) for p in w.tolist() if p > 0)
    return float(w @ u) + beta * math.log(torch.det(sigma)) + tau * entropy


def stepped(w, u, x, beta, tau, share):
    """One step in plain loops."""
    sigma = torch.eye(x.shape[1]).double() + sum(
        p * torch.outer(one, one) for p, one in zip(w, x)
    )
    inverse = sigma.inverse()
    logs = torch.stack([
        (1 - share) * p.log() + share * (a + beta * (one @ inverse @ one)) / tau
        for p, a, one in zip(w, u, x)
    ])  # fmt: skip
    after = (logs - logs.max()).exp()
    return after / after.sum()


@check(points=2, likely="entropy is -sum w log w, and weights stand inside Sigma.")
def test_objective(answer):
    """F at random weights, and where weights are 0"""
    for seed, beta, tau in ((151, 5.0, 2.0), (152, 128.0, 8.0)):
        w, u, x = problem(seed)
        plain = height(w, u, x, beta, tau)
        entropy = height(w, u, x, beta, 1.0) - height(w, u, x, beta, 0.0)
        mistakes = {
            "the entropy is subtracted": plain - 2 * tau * entropy,
            "the weights are left out of Sigma": plain
            - beta * (height(w, 0 * u, x, 1.0, 0.0))
            + beta * torch.logdet(torch.eye(5).double() + x.T @ x).item(),
            "the entropy is left out": plain - tau * entropy,
        }
        got = answer.objective(w, u, x, beta, tau)
        expect_same(got, plain, tolerance=ROUNDING, mistakes=mistakes)
    w = torch.where(torch.arange(24) < 12, w, 0.0)
    w = w / w.sum()
    want = height(w, u, x, 128.0, 8.0)
    got = answer.objective(w, u, x, 128.0, 8.0)
    expect_same(got, want, tolerance=ROUNDING, name="F with weights of 0")


@check(points=2, likely="shares mix logarithms; softmax normalises at the end.")
def test_step(answer):
    """A full step and shorter ones"""
    for seed, share in ((153, 1.0), (154, 0.5), (155, 0.1)):
        w, u, x = problem(seed)
        want = stepped(w, u, x, 20.0, 4.0, share)
        mistakes = {}
        if share < 1:
            full = stepped(w, u, x, 20.0, 4.0, 1.0)
            mistakes["the weights are mixed, not their logarithms"] = (
                1 - share
            ) * w + share * full
            mistakes["the share is not read"] = full
        got = answer.step(w, u, x, 20.0, 4.0, share)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    # Logits of a thousand must not overflow.
    got = answer.step(w, 1000 * u, x, 20.0, 1.0, 1.0)
    want = stepped(w, 1000 * u, x, 20.0, 1.0, 1.0)
    expect_same(got, want, tolerance=ROUNDING, name="a step with large utilities")


@check(points=3, likely="halve the share, from the same w, until F is no lower.")
def test_round(answer):
    """Rounds that a full step would spoil: shares and weights"""
    shares = set()
    for seed, beta, tau in ((156, 5.0, 8.0), (157, 300.0, 2.0), (158, 3000.0, 1.0)):
        w, u, x = problem(seed, duplicates=True)
        for _ in range(4):
            share = 1.0
            reached = height(w, u, x, beta, tau)
            while height(stepped(w, u, x, beta, tau, share), u, x, beta, tau) < reached:
                share /= 2
            want = stepped(w, u, x, beta, tau, share), share
            mistakes = {}
            if share < 1:
                mistakes["the full step is taken anyway"] = (
                    stepped(w, u, x, beta, tau, 1.0), 1.0
                )  # fmt: skip
            got = answer.rising_round(w, u, x, beta, tau)
            expect_same(
                got, want, tolerance=1e-8, mistakes=mistakes,
                parts=("weights", "share"),
            )  # fmt: skip
            shares.add(share)
            w = want[0] + 1e-6  # no weight may be 0
            w = w / w.sum()
    expect(len(shares) >= 3, "these rounds no longer need three different shares")
