"""Checks of ch14/mass_in_logs."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=5,
    title="A memory of masses that underflow",
    difficulty=3,
    minutes=45,
    hints=(
        "The weights of a state are shares: only ratios of masses matter. What operation "
        "gives shares from logarithms without ever taking the exp of a very low one?",
        "Put log mu_tau + (t - tau) log gamma into a table [T, T], -inf where tau > t. Its "
        "softmax along tau are the weights, its logsumexp the log masses.",
        "Joining: the first stretch fades by gamma^(rounds of the second). Two logs, one "
        "softmax. A log mass of -inf gives the weight 0.",
    ),
)

ROUNDING = 1e-10
"""Shares of float64 logarithms as low as -3000: 3000 units of 2e-16 and some sums."""
STATES = "moments", "log mass"
STATE = "moments", "log mass", "rounds"


def made(seed, logs, dim=2, value=3):
    generator = torch.Generator().manual_seed(seed)
    logs = torch.tensor(logs, dtype=torch.float64)
    moments = torch.randn(len(logs), dim, value, generator=generator).double()
    return logs, moments * logs.isfinite()[:, None, None]


def in_fractions(logs, moments, gamma):
    """The definition, every mass relative to the largest of its state."""
    outs, totals = [], []
    for t in range(len(logs)):
        faded = [float(logs[tau]) + (t - tau) * math.log(gamma) for tau in range(t + 1)]
        top = max(faded)
        weights = [math.exp(x - top) for x in faded]
        outs.append(sum(w * m for w, m in zip(weights, moments)) / sum(weights))
        totals.append(top + math.log(sum(weights)))
    return torch.stack(outs), torch.tensor(totals, dtype=torch.float64)


ORDINARY = [-0.5, -1.0, -0.2, -3.0, -0.7]
TINY = [-3000.0, -2999.0, -3001.0, -2998.5]
MIXED = [-1.0, -2000.0, -math.inf, -0.5, -math.inf]


@check(points=3, likely="eviction tau has faded by gamma^(t - tau) in the state after t.")
def test_ordinary_masses(answer):
    """Every state, for masses of ordinary size"""
    for gamma in (0.5, 0.9, 1.0):
        logs, moments = made(1440, ORDINARY)
        want = in_fractions(logs, moments, gamma)
        sums = torch.stack([
            sum(gamma ** (t - s) * math.exp(float(logs[s])) * moments[s] for s in range(t + 1))
            for t in range(len(logs))
        ])
        mistakes = {
            "moments are not divided by the mass": (sums, want[1]),
            "the masses are not in logarithms": (want[0], want[1].exp()),
            "nothing fades": in_fractions(logs, moments, 1.0),
            "it fades in the other direction": in_fractions(logs, moments, 1 / gamma),
        }
        mistakes = {
            k: x for k, x in mistakes.items()
            if not all(torch.allclose(a, b) for a, b in zip(x, want))
        }
        got = answer.states(logs, moments, gamma)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=STATES)


@check(points=3, likely="exp(-3000) is 0 in floating point; subtract the largest logarithm first.")
def test_tiny_masses(answer):
    """Masses whose exp is 0, and evictions of nothing"""
    for logs, gamma in ((TINY, 0.9), (MIXED, 0.5), ([-3000.0, -math.inf, -math.inf], 0.9)):
        logs, moments = made(1441, logs)
        want = in_fractions(logs, moments, gamma)
        got = answer.states(logs, moments, gamma)
        expect_same(got, want, tolerance=ROUNDING, parts=STATES)


def last(logs, moments, gamma):
    """The state after all of them: moments, log mass, rounds."""
    outs, totals = in_fractions(logs, moments, gamma)
    return outs[-1], float(totals[-1]), len(logs)


@check(points=3, likely="the first stretch fades once for each round of the second.")
def test_join(answer):
    """Two stretches, of several lengths and sizes of mass"""
    for logs in (ORDINARY, TINY):
        for cut in range(1, len(logs)):
            gamma = 0.8
            each, moments = made(1442, logs)
            want = last(each, moments, gamma)
            one, two = last(each[:cut], moments[:cut], gamma), last(each[cut:], moments[cut:], gamma)
            shares = torch.tensor([one[1], two[1]], dtype=torch.float64).softmax(0)
            mistakes = {
                "the first stretch does not fade": (
                    shares[0] * one[0] + shares[1] * two[0], want[1], want[2]
                ),
                "rounds are not added": (*want[:2], two[2]),
            }
            mistakes = {
                k: x for k, x in mistakes.items()
                if not (torch.allclose(x[0], want[0]) and x[2] == want[2])
            }
            got = answer.join(one, two, gamma)
            expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=STATE)


@check(points=1, likely="a stretch without mass still ages what came before.")
def test_empty_stretches(answer):
    """A stretch in which nothing was evicted"""
    logs, moments = made(1443, ORDINARY)
    state = last(logs, moments, 0.9)
    nothing = torch.zeros(2, 3, dtype=torch.float64), -math.inf, 4
    want = state[0], state[1] + 4 * math.log(0.9), 9
    expect_same(answer.join(state, nothing, 0.9), want, tolerance=ROUNDING, parts=STATE)
    want = state[0], state[1], 9
    expect_same(answer.join(nothing, state, 0.9), want, tolerance=ROUNDING, parts=STATE)
