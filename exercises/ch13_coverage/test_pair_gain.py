"""Checks of ch13/pair_gain."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="What a pair covers",
    difficulty=2,
    minutes=25,
    hints=(
        "In one dimension Sigma is a number. What is log det(Sigma + x^2) - log det "
        "Sigma there, and what remains of it if x comes twice?",
        "G_ij = alpha x_i' Sigma^-1 x_j is one solve for all keys; h is its diagonal, "
        "rho^2 is G_xy^2 / ((1 + h_x) (1 + h_y)), the cross derivative is -G^2.",
        "torch.linalg.solve(sigma, x.T) is Sigma^-1 X'; (x * that.T).sum(1) its "
        "diagonal with x. log1p(-rho2) keeps digits when rho is small.",
    ),
)


def keys(seed, count=9, dim=4):
    """A covariance and keys."""
    generator = torch.Generator().manual_seed(seed)
    base = torch.randn(6, dim, generator=generator, dtype=torch.float64)
    sigma = torch.eye(dim, dtype=torch.float64) + base.T @ base / 3
    return sigma, torch.randn(count, dim, generator=generator, dtype=torch.float64)


def brings(sigma, alpha, *chosen):
    """A difference of determinants, the slow way."""
    more = sigma + alpha * sum(torch.outer(x, x) for x in chosen)
    return math.log(torch.det(more).item() / torch.det(sigma).item())


ROUNDING = 1e-9
"""Determinants and solves of 4 x 4 matrices of condition below 100, in float64."""


@check(points=2, likely="x_i' Sigma^-1 x_i, times alpha.")
def test_gains(answer):
    """The gain of every key, against determinants"""
    for seed, alpha in ((135, 1.0), (136, 2.5)):
        sigma, x = keys(seed)
        want = torch.tensor(
            [math.expm1(brings(sigma, alpha, one)) for one in x], dtype=torch.float64
        )  # 1 + h is the ratio of the determinants
        mistakes = {
            "Sigma is not inverted": alpha * ((x @ sigma) * x).sum(1),
            "Sigma is left out": alpha * x.square().sum(1),
            "it is the logarithm": want.log1p(),
        }
        if alpha != 1:
            mistakes["alpha is left out"] = want / alpha
        got = answer.gains(sigma, x, alpha)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="rho^2 has the square of the cross term, over both 1 + h.")
def test_interaction(answer):
    """A pair less its parts, against determinants"""
    for seed, alpha in ((137, 1.0), (138, 0.3)):
        sigma, x = keys(seed)
        for i, j in ((0, 1), (2, 7), (4, 4)):
            pair = x[i], x[j]
            parts = [brings(sigma, alpha, one) for one in pair]
            together = brings(sigma, alpha, *pair)
            want = together - sum(parts)
            mistakes = {
                "the whole gain of the pair is returned": together,
                "the sign is turned": -want,
                "rho^2 is returned": 1 - math.exp(want),
            }
            got = answer.interaction(sigma, *pair, alpha)
            expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="the derivative is minus the square of every G_ij.")
def test_cross_derivative(answer):
    """Second derivatives, against differences of first ones"""
    generator = torch.Generator().manual_seed(139)
    alpha, nudge = 1.7, 1e-5
    x = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    w = torch.rand(6, generator=generator, dtype=torch.float64)

    def sigma(weights):
        return torch.eye(3).double() + alpha * (x.T * weights) @ x

    def slopes(weights):
        return alpha * torch.einsum("sz,zy,sy->s", x, sigma(weights).inverse(), x)

    columns = []
    for j in range(6):
        up, down = w.clone(), w.clone()
        up[j] += nudge
        down[j] -= nudge
        columns.append((slopes(up) - slopes(down)) / (2 * nudge))
    want = torch.stack(columns, 1)
    g = alpha * x @ sigma(w).inverse() @ x.T
    mistakes = {
        "the sign is turned": g.square(),
        "it is not squared": -g,
        "alpha is squared too rarely": -g.square() / alpha,
    }
    got = answer.cross_derivative(sigma(w), x, alpha)
    # Central differences of step 1e-5: off by 1e-10 and by rounding, 1e-11.
    expect_same(got, want, tolerance=1e-7, mistakes=mistakes)
