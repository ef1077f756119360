"""Checks of ch19/stationary."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="Where it comes to rest",
    difficulty=2,
    minutes=25,
    hints=(
        "Differentiate log sum e^Q first: what well-known function comes out?",
        "The gradient is c (softmax - p) + p (Q - R). Set it to 0 and divide by p, where "
        "p is not 0.",
        "torch.where(share_a > 0, mean_a + c * (1 - softmax / share), q_a), with 1 in the "
        "place of a share of 0; logsumexp keeps large Q finite.",
    ),
)


def states(seed):
    """Random Q, R and p of 2 to 6 actions; the last one was never tried."""
    generator = torch.Generator().manual_seed(seed)
    for actions, c in ((2, 0.75), (3, 0.1), (6, 2.0), (4, 0.0)):
        q, mean = torch.randn(2, actions, generator=generator, dtype=torch.float64)
        share = torch.rand(actions, generator=generator, dtype=torch.float64) + 0.1
        yield q, mean, share / share.sum(), c
        share[-1] = 0
        yield q, mean, share / share.sum(), c


def by_hand(q, mean, share, c):
    """J in Python's numbers."""
    q, mean, share = q.tolist(), mean.tolist(), share.tolist()
    top = max(q)
    total = top + math.log(sum(math.exp(x - top) for x in q))
    liked = sum(p * x for p, x in zip(share, q))
    return c * (total - liked) + sum(
        p * (x - r) ** 2 for x, r, p in zip(q, mean, share)
    ) / 2


def unchanged(answer, given):
    kept = [t.clone() for t in given[:3]]
    got = answer(*given)
    for one, other in zip(given[:3], kept):
        expect_same(one, other, name="your argument after the call")
    return got


@check(points=2, likely="the soft maximum is over all actions, the rest weighs with p.")
def test_objective(answer):
    """J in plain numbers, also for large Q"""
    for q, mean, share, c in states(1930):
        for shift in (0.0, 800.0):
            given = q + shift, mean + shift, share, c
            want = by_hand(*given)
            got = unchanged(answer.objective, given)
            fit = (share * (q - mean) ** 2).sum().item()
            mistakes = {
                "the squares are not halved": want + fit / 2,
                "actions weigh equally": want - fit / 2 + ((q - mean) ** 2).mean().item() / 2,
                "the two terms of the push are exchanged": fit - want,
            }
            mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
            name = f"the result for {len(q)} actions"
            # Numbers near 800 carry 1e-13 each.
            expect_same(got, want, tolerance=1e-10, mistakes=mistakes, name=name)


@check(points=2, likely="log sum e^Q has the softmax as its gradient.")
def test_gradient(answer):
    """The gradient, against differences of J"""
    for q, mean, share, c in states(1931):
        want, step = torch.zeros_like(q), 1e-5
        for a in range(len(q)):
            up, down = q.clone(), q.clone()
            up[a] += step
            down[a] -= step
            want[a] = (by_hand(up, mean, share, c) - by_hand(down, mean, share, c)) / 2 / step
        push = c * (q.softmax(0) - share)
        mistakes = {
            "the squares do not weigh with p": push + q - mean,
            "the push has the wrong sign": want - 2 * push,
            "log sum e^Q has gradient 1": want + c * (1 - q.softmax(0)),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want, atol=1e-4)}
        got = unchanged(answer.downhill, (q, mean, share, c))
        # Central differences with a step of 1e-5: 1e-10 by the step, 1e-11 by rounding.
        expect_same(got, want, tolerance=1e-8, mistakes=mistakes)


@check(points=3, likely="softmax over share, and only where something was tried.")
def test_stationary(answer):
    """What Q would have to be, and where it is already"""
    for q, mean, share, c in states(1932):
        want = q.clone()
        soft = q.softmax(0)
        for a in range(len(q)):
            if share[a] > 0:
                want[a] = mean[a] + c - c * soft[a] / share[a]
        tried = share > 0
        mistakes = {
            "share and softmax are exchanged": torch.where(
                tried, mean + c * (1 - share / soft), q
            ),
            "share and softmax are subtracted": torch.where(
                tried, mean + c * (share - soft), q
            ),
            "what was never tried gets its mean": torch.where(tried, want, mean + c),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want, atol=1e-6)}
        got = unchanged(answer.stationary, (q, mean, share, c))
        expect_same(got, want, tolerance=1e-12, mistakes=mistakes)
