"""Checks of ch13/greedy."""

import itertools

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=5,
    title="One key after the other",
    difficulty=3,
    minutes=45,
    hints=(
        "What a key adds shrinks as others come in. Which number per key must be "
        "recomputed after a pick, and what in it has changed?",
        "A pick changes Sigma by x x', a rank-one update: Sherman and Morrison give "
        "the new inverse from the old one in Z^2 operations.",
        "t = inverse @ x[best]; inverse -= outer(t, t) / (1 + h[best]); h = ((x @ "
        "inverse) * x).sum(1); the key added most has u + beta log(1 + h) largest.",
    ),
)

ROUNDING = 1e-9
"""Log-determinants of 6 x 6 matrices, in float64."""


def problem(seed, count=14, dim=6):
    """Utilities and keys in loose clusters."""
    generator = torch.Generator().manual_seed(seed)
    u = torch.rand(count, generator=generator, dtype=torch.float64)
    centre = torch.randn(3, dim, generator=generator, dtype=torch.float64)
    noise = torch.randn(count, dim, generator=generator, dtype=torch.float64)
    return u, centre[torch.arange(count) % 3] + 0.3 * noise


def value(u, x, beta, chosen):
    """The worth of a set, from its definition."""
    chosen = list(chosen)
    sigma = torch.eye(x.shape[1]).double() + x[chosen].T @ x[chosen]
    return float(u[chosen].sum() + beta * torch.logdet(sigma))


def slow(u, x, beta, count):
    """Greed that computes every determinant anew."""
    picked = []
    for _ in range(count):
        left = [i for i in range(len(u)) if i not in picked]
        picked.append(max(left, key=lambda i: (value(u, x, beta, [*picked, i]), -i)))
    return torch.tensor(picked, dtype=torch.int64)


@check(points=1, likely="the sum of utilities plus beta log det.")
def test_worth(answer):
    """The worth of sets, the empty one too"""
    u, x = problem(161)
    for chosen in ([3], [0, 5, 9], list(range(14))):
        got = answer.worth(u, x, 2.0, torch.tensor(chosen))
        want = value(u, x, 2.0, chosen)
        mistakes = {
            "beta is left out": value(u, x, 1.0, chosen),
            "utilities are left out": value(0 * u, x, 2.0, chosen),
        }
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    got = answer.worth(u, x, 2.0, torch.tensor([], dtype=torch.int64))
    expect_same(got, 0.0, tolerance=ROUNDING, name="the worth of no keys")


@check(points=3, likely="after every pick the gains of all other keys change.")
def test_order(answer):
    """Picks and their order, with and without coverage"""
    for seed, beta, count in ((162, 2.0, 8), (163, 0.5, 14), (164, 0.0, 6), (165, 9.0, 5)):
        u, x = problem(seed)
        want = slow(u, x, beta, count)
        alone = u + beta * x.square().sum(1).log1p()
        mistakes = {
            "gains are those before the first pick": alone.argsort(descending=True)[:count],
            "utility alone decides": u.argsort(descending=True)[:count],
            "utility is left out": slow(0 * u, x, max(beta, 1.0), count),
            "the order is lost": want.sort().values,
        }
        mistakes = {k: m for k, m in mistakes.items() if not torch.equal(m, want)}
        got = answer.greedy(u, x, beta, count)
        expect_same(got, want, mistakes=mistakes, name="the picks")


@check(points=1, likely="of equal keys the smaller position, and none twice.")
def test_duplicates(answer):
    """Keys that are all alike, and equal pairs; nothing to pick"""
    u, x = torch.zeros(5).double(), torch.eye(3).double()[:1].expand(5, -1).clone()
    got = answer.greedy(u, x, 1.0, 5)
    expect_same(got, torch.arange(5), name="the picks of equal keys")
    # Orthogonal keys of equal length keep tying, whatever was picked.
    u, x = torch.zeros(4).double(), torch.eye(4).double()
    expect_same(answer.greedy(u, x, 1.0, 3), torch.arange(3))
    u, x = problem(166)
    nothing = torch.tensor([], dtype=torch.int64)
    expect_same(answer.greedy(u, x, 1.0, 0), nothing, name="no picks")


@check(points=2, likely="keep the inverse up to date; do not solve for each candidate.")
def test_long(answer):
    """Hundreds of picks from thousands of keys, in time and still exact"""
    generator = torch.Generator().manual_seed(167)
    u = torch.rand(4000, generator=generator, dtype=torch.float64)
    x = torch.randn(4000, 24, generator=generator, dtype=torch.float64)
    got = answer.greedy(u, x, 3.0, 300)
    inverse, picked = torch.eye(24).double(), []
    free = torch.ones(4000, dtype=torch.bool)
    for step in range(300):  # solves anew at every step, one step at a time
        adds = u + 3.0 * ((x @ inverse) * x).sum(1).log1p()
        adds[~free] = -torch.inf
        picked.append(int(adds.argmax()))
        free[picked[-1]] = False
        chosen = x[picked]
        inverse = (torch.eye(24).double() + chosen.T @ chosen).inverse()
    expect_same(got, torch.tensor(picked), name="300 picks of 4,000")


@check(points=1, likely="greed keeps 1 - 1/e of what a monotone worth can reach.")
def test_guarantee(answer):
    """At least 63% of the best set, by trying all sets"""
    for seed in (168, 169):
        u, x = problem(seed, count=10)
        best = max(
            value(u, x, 2.0, chosen) for chosen in itertools.combinations(range(10), 4)
        )
        got = answer.greedy(u, x, 2.0, 4)
        expect(
            len(set(got.tolist())) == 4
            and value(u, x, 2.0, got.tolist()) >= 0.632 * best,
            "the picks are worth less than greed guarantees",
        )
