"""Checks of ch11/crossing."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="Where truncation begins to help",
    difficulty=2,
    minutes=25,
    hints=(
        "Split what an output adds to the background into a part along signal minus "
        "background and a part across it. Which of the two does alpha move?",
        "w is a projection: an inner product over a squared length. The mean error of an "
        "operator is a parabola in alpha; both parabolas have the same alpha squared.",
        "mean (alpha - w)^2 = alpha^2 - 2 alpha mean(w) + mean(w^2). Set the two errors "
        "equal: alpha = (difference of mean(w^2 + size)) / (2 difference of mean w).",
    ),
)

ROUNDING = 1e-9
"""Sums of some hundred float64 numbers, and one division."""


def draw(seed, rows=40, dim=6):
    """Outputs with known parts: weights, residual sizes, and the vectors."""
    generator = torch.Generator().manual_seed(seed)
    signal, background, across = torch.randn(
        3, rows, dim, dtype=torch.float64, generator=generator
    )
    delta = signal - background
    square = (delta * delta).sum(1, keepdim=True)
    across = across - (across * delta).sum(1, keepdim=True) / square * delta
    w = 2 * torch.rand(rows, dtype=torch.float64, generator=generator) - 0.5
    output = background + w[:, None] * delta + across
    return output, signal, background, w, (across * across).sum(1) / square[:, 0]


def operators(seed, shift=0.4):
    """Two operators' (w, size), the second with more signal and more residual."""
    generator = torch.Generator().manual_seed(seed)
    w, size = torch.rand(2, 30, dtype=torch.float64, generator=generator)
    more, larger = torch.rand(2, 30, dtype=torch.float64, generator=generator)
    return (0.3 * w, 0.2 * size), (0.2 * more + shift, 0.6 * larger)


@check(points=3, likely="divide by the squared length, and take the residual across delta.")
def test_weight(answer):
    """Weights and residuals of outputs that were put together from them"""
    for seed in (1130, 1131):
        output, signal, background, w, size = draw(seed)
        delta = signal - background
        length = delta.norm(dim=1)
        mistakes = {
            "the projection is divided by the length once": (w * length, size),
            "the residual is not squared": (w, size.sqrt()),
            "the residual has its own units": (w, size * length**2),
            "the residual is all that is added": (w, size + w**2),
            "signal and background are exchanged": (1 - w, size),
        }
        got = answer.signal_weight(output, signal, background)
        expect_same(got, (w, size), tolerance=ROUNDING, mistakes=mistakes,
                    parts=("signal weight", "residual's size"))


@check(points=2, likely="the mean is over rows of the whole error, (alpha - w)^2 and the residual.")
def test_error(answer):
    """The error against targets that were written out"""
    output, signal, background, w, size = draw(1132)
    delta = signal - background
    for alpha in (0.0, 0.35, 1.0):
        target = alpha * signal + (1 - alpha) * background
        rows = ((target - output) ** 2).sum(1) / (delta**2).sum(1)
        want = float(rows.mean())
        mistakes = {
            "the residual is left out": float(((alpha - w) ** 2).mean()),
            "the mean weight stands for all": float((alpha - w.mean()) ** 2 + size.mean()),
            "rows are summed": float(rows.sum()),
            "the root is taken": want**0.5,
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        got = answer.mean_error(alpha, w, size)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=3, likely="neither the variance of w nor the residuals cancel.")
def test_crossing(answer):
    """Where two measured operators have the same error"""
    for seed, shift in ((1133, 0.4), (1134, 0.9), (1135, 0.15)):
        exact, sparse = operators(seed, shift)
        low, high = -50.0, 50.0
        for _ in range(200):  # bisection on the difference of the errors
            middle = (low + high) / 2
            e, s = (((middle - w) ** 2 + size).mean() for w, size in (exact, sparse))
            low, high = (middle, high) if e < s else (low, middle)
        midpoint = float(exact[0].mean() + sparse[0].mean()) / 2
        ahead = float(sparse[0].mean() - exact[0].mean())
        residual = float(sparse[1].mean() - exact[1].mean())
        mistakes = {
            "only the midpoint is taken": midpoint,
            "the variance of w is left out": midpoint + residual / (2 * ahead),
            "the residuals move it the wrong way": 2 * midpoint - low,
            "a factor of two is lost": midpoint + 2 * (low - midpoint),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - low) > 1e-6}
        got = answer.crossing(exact, sparse)
        expect_same(got, low, tolerance=ROUNDING, mistakes=mistakes, name="the crossing")


@check(points=1, likely="where residuals and variances are equal, the midpoint is left.")
def test_midpoint(answer):
    """Operators without noise: the published midpoint"""
    flat = torch.zeros(3, dtype=torch.float64)
    for w_e, w_s in ((0.2, 0.8), (0.0, 0.5), (0.35, 0.36)):
        got = answer.crossing((flat + w_e, flat), (flat + w_s, flat + 0.0))
        expect_same(got, (w_e + w_s) / 2, tolerance=1e-7, name="the crossing without noise")
    one = torch.tensor([0.1, 0.3], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    # Samples of different size may be compared: only means count.
    other = torch.tensor([0.6], dtype=torch.float64), torch.tensor([0.2], dtype=torch.float64)
    want = 0.4 + (0.2 - 0.01) / (2 * 0.4)
    got = answer.crossing(one, other)
    expect_same(got, want, tolerance=ROUNDING, name="the crossing of two and one rows")


@check(points=1, likely="the means decide, and equal means have no crossing.")
def test_no_crossing(answer):
    """A sparse operator without more signal"""
    exact, sparse = operators(1136)
    expect_raises(answer.crossing, sparse, exact, mentions="sparse")
    expect_raises(answer.crossing, exact, (exact[0], sparse[1]), mentions="sparse")
