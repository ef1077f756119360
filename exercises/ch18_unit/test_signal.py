"""Checks of ch18/signal."""

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=2,
    title="What one prompt is worth",
    difficulty=2,
    minutes=25,
    hints=(
        "Which part of x_ph would remain if every prompt had the same mean, and every "
        "head too? And how much do the means of heads vary if all heads are equal?",
        "left = x - column means - row means + mean of all; degrees of freedom (P-1)(H-1). "
        "Take noise / P off the variance of the column means.",
        "r_n = n r / (1 + (n - 1) r); solved for n it is w (1 - r) / (r (1 - w)), rounded "
        "up, but not for a rounding error of 1e-16.",
    ),
)

PARTS = "signal", "noise"


@check(points=3, likely="both variances must be free of bias: look at what is below.")
def test_components(answer):
    """Signal and noise of small tables, by loops"""
    generator = torch.Generator().manual_seed(1820)
    for prompts, heads in ((2, 2), (3, 5), (6, 4)):
        x = torch.randn(prompts, heads, generator=generator, dtype=torch.float64)
        x = x + 3 * torch.randn(prompts, 1, generator=generator, dtype=torch.float64)
        x = x + 2 * torch.randn(1, heads, generator=generator, dtype=torch.float64)
        rows = [sum(row) / heads for row in x.tolist()]
        columns = [sum(column) / prompts for column in x.T.tolist()]
        mean = sum(rows) / prompts
        squares = sum(
            (x[p, h].item() - rows[p] - columns[h] + mean) ** 2
            for p in range(prompts) for h in range(heads)
        )
        noise = squares / (prompts - 1) / (heads - 1)
        spread = sum((c - mean) ** 2 for c in columns) / (heads - 1)
        want = spread - noise / prompts, noise
        inner = sum(
            (x[p, h].item() - columns[h]) ** 2
            for p in range(prompts) for h in range(heads)
        ) / heads / (prompts - 1)
        mistakes = {
            "the noise is not taken off the signal": (spread, noise),
            "the whole noise is taken off the signal": (spread - noise, noise),
            "the noise is divided by P H": (
                spread - squares / prompts**2 / heads, squares / prompts / heads
            ),
            "prompts are left in the noise": (spread - inner / prompts, inner),
        }
        kept = x.clone()
        got = answer.components(x)
        name = f"the result for {prompts} prompts, {heads} heads"
        # Differences of numbers near 10.
        expect_same(got, want, tolerance=1e-11, mistakes=mistakes, name=name, parts=PARTS)
        expect_same(x, kept, name="your argument after the call")


@check(points=2, likely="the mean of n prompts has a noise of variance noise / n.")
def test_agreement(answer):
    """From one prompt to many, against the formula of Spearman and Brown"""
    for signal, noise in ((1.0, 1.0), (0.04, 0.01), (0.002, 0.5), (3.0, 1e-6)):
        one = signal / (signal + noise)
        for prompts in (1, 2, 7, 100):
            want = prompts * one / (1 + (prompts - 1) * one)
            mistakes = {
                "it is the correlation of the mean with the truth": want**0.5,
                "noise is divided by the root": signal / (signal + noise / prompts**0.5),
                "it is what one prompt is worth": one,
            }
            mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-5}
            got = answer.agreement(signal, noise, prompts)
            name = f"the result for {signal}, {noise}, {prompts} prompts"
            expect_same(got, want, tolerance=1e-12, mistakes=mistakes, name=name)


@check(points=2, likely="solve the formula for n and round up.")
def test_needed(answer):
    """The fewest prompts, by trying them one after another"""
    for one, wanted in (
        (0.5, 0.9), (0.1, 0.9), (0.97, 0.9), (0.3, 0.3), (0.02, 0.8), (0.5, 0.75),
        (0.8, 0.95),
    ):
        want = 1
        while want * one / (1 + (want - 1) * one) < wanted - 1e-9:
            want += 1
        got = answer.prompts_needed(one, wanted)
        name = f"the result for {one}, wanted {wanted}"
        expect_same(got, want, name=name)
        expect(type(got) is int, f"{name} must be an int")
    for wrong in (0.0, 1.0, 1.5, -0.2):
        expect_raises(answer.prompts_needed, 0.5, wrong, mentions="wanted")
