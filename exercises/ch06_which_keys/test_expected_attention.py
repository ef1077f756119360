"""Checks of ch06/expected_attention."""

import numpy as np
import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=4,
    title="What a Gaussian query looks at",
    difficulty=3,
    minutes=35,
    hints=(
        "If q is a Gaussian vector, what kind of number is q.k, and what are its mean "
        "and its variance?",
        "For x Gaussian, E exp(a x) = exp(a mean + a^2 variance / 2). The mean of q.k is "
        "m.k, its variance k'Ck. Return the exponent.",
        "einsum('hd,hsd->hs', m, k) * scaling + einsum('hsd,hde,hse->hs', k, C, k) * "
        "scaling**2 / 2, with k = keys.repeat_interleave(R, 0).",
    ),
)

ROUNDING = 1e-10
"""Quadratic forms of 6 dimensions in float64, and a softmax of them."""


def normal(seed, *shape):
    """Standard normal numbers in float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def by_quadrature(mean, cov, key, scaling):
    """log E exp(scaling q.k), integrating along q.k by Gauss-Hermite nodes."""
    centre, variance = float(mean @ key), float(key @ cov @ key)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    values = np.exp(scaling * variance**0.5 * nodes)
    return scaling * centre + np.log(weights @ values / weights.sum())


def of_all(mean, cov, keys, scaling, group=None):
    """[H, S] by quadrature."""
    size = len(mean) // len(keys)
    group = group or (lambda h: h // size)
    rows = [
        [by_quadrature(mean[h], cov[h], key, scaling) for key in keys[group(h)]]
        for h in range(len(mean))
    ]
    return torch.tensor(rows, dtype=torch.float64)


@check(points=3, likely="mean scaling m.k, plus half of scaling^2 k'Ck.")
def test_expected_logits(answer):
    """Against numerical integration, for two group sizes"""
    for seed, heads, kv_heads, scaling in ((631, 4, 2, 0.5), (634, 3, 3, 1.0)):
        mean, root = normal(seed, heads, 6), 0.5 * normal(seed + 1, heads, 6, 3)
        cov = root @ root.transpose(1, 2)
        keys = normal(seed + 2, kv_heads, 7, 6)
        want = of_all(mean, cov, keys, scaling)
        toward = of_all(mean, 0 * cov, keys, scaling)
        mistakes = {
            "the covariance is left out": toward,
            "the half is missing": 2 * want - toward,
            "scaling is not squared with the covariance": toward
            + (want - toward) / scaling,
            "the mean is left out": want - toward,
            "head h reads key-value head h % K": of_all(
                mean, cov, keys, scaling, lambda h: h % kv_heads
            ),
            "the expectation is returned and not its logarithm": want.exp(),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        got = answer.expected_logits(mean, cov, keys, scaling)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=1, likely="exp is taken and then log: exp of a thousand is inf.")
def test_large_logits(answer):
    """Logits of several thousand"""
    mean, keys = 100 * normal(636, 2, 6), 30 * normal(637, 1, 5, 6)
    cov = torch.eye(6, dtype=torch.float64).repeat(2, 1, 1)
    # k'k / 2 beside it; exact in float64 up to 1e-12 of the logit.
    want = (keys @ mean.T)[0].T + keys.square().sum(-1) / 2
    expect_same(answer.expected_logits(mean, cov, keys, 1.0), want, tolerance=1e-11)


@check(points=2, likely="centre first, divide by T, every head for itself.")
def test_moments(answer):
    """Mean and covariance of many rows, of one, and far from the origin"""
    for seed, heads, rows, far in ((638, 3, 40, 0.0), (639, 2, 1, 0.0), (640, 2, 9, 1e6)):
        queries = normal(seed, heads, rows, 5) + far
        exact = queries.tolist()
        mean, cov = [], []
        for head in exact:
            centre = [np.longdouble(0)] * 5
            for q in head:
                centre = [c + np.longdouble(x) / rows for c, x in zip(centre, q)]
            off = np.array([[x - c for x, c in zip(q, centre)] for q in head])
            mean.append([float(c) for c in centre])
            cov.append((off.T @ off / rows).astype(float))
        want = torch.tensor(mean).double(), torch.tensor(np.array(cov))
        want = torch.tensor(mean, dtype=torch.float64), want[1]
        mistakes = {}
        if rows > 1:
            mistakes["it is divided by T - 1"] = (want[0], want[1] * rows / (rows - 1))
            mistakes["it is not divided"] = (want[0], want[1] * rows)
        got = answer.moments(queries)
        # Far away, numbers of 1e6 carry 1e-10 each.
        expect_same(
            got, want, tolerance=1e-9 if far else 1e-12, mistakes=mistakes,
            name=f"the moments of {rows} rows", parts=("mean", "covariance"),
        )  # fmt: skip


@check(points=3, likely="softmax without the sinks, group mean, times ||v||.")
def test_scores(answer):
    """The whole rule, with and without sinks"""
    for seed, heads, kv_heads, sinks in ((641, 4, 2, 3), (645, 2, 1, 0)):
        length, scaling = 12, 0.6
        queries = normal(seed, heads, length, 6) + normal(seed + 1, heads, 1, 6)
        keys, values = normal(seed + 2, kv_heads, length, 6), normal(seed + 3, kv_heads, length, 6)
        size = heads // kv_heads

        def scores(first_row=sinks, inside=sinks, reduce="mean", lengths=True):
            mean = torch.stack([q[first_row:].mean(0) for q in queries])
            cov = torch.stack([torch.cov(q[first_row:].T, correction=0) for q in queries])
            logits = of_all(mean, cov, keys, scaling)
            shares = torch.zeros(heads, length, dtype=torch.float64)
            shares[:, inside:] = logits[:, inside:].softmax(-1)
            groups = shares.view(kv_heads, size, length)
            one = groups.mean(1) if reduce == "mean" else groups.sum(1)
            return (one * values.norm(dim=-1) if lengths else one)[:, sinks:]

        want = scores()
        mistakes = {
            "the sinks' rows are among the queries": scores(first_row=0),
            "the sinks are inside the softmax": scores(inside=0),
            "the heads of a group are summed": scores(reduce="sum"),
            "the values' lengths are left out": scores(lengths=False),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        got = answer.expected_scores(queries, keys, values, scaling, sinks)
        expect(
            bool(torch.isinf(torch.as_tensor(got)[..., :sinks]).all()),
            "the first `sinks` keys must score +inf: they stay",
        )
        expect_same(got[..., sinks:], want, tolerance=ROUNDING, mistakes=mistakes)
