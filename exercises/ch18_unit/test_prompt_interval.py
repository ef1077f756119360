"""Checks of ch18/prompt_interval."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="The prompt is the unit",
    difficulty=2,
    minutes=20,
    hints=(
        "What must be known of a prompt, so that its values are not needed any more?",
        "Its sum and its count. The mean of a resample is the sum of sums over the sum of "
        "counts, for the prompts that were drawn.",
        "index_add_ gives the sums, bincount the counts; total[draws].sum(1) divided by "
        "count[draws].sum(1).",
    ),
)


def expect_resampled(answer, lengths, generator):
    """Compare with means made value by value."""
    prompt = torch.tensor([p for p, m in enumerate(lengths) for _ in range(m)])
    prompt = prompt[torch.randperm(len(prompt), generator=generator)]
    values = torch.randn(len(prompt), generator=generator, dtype=torch.float64)
    values = values + 3 * prompt
    draws = torch.randint(len(lengths), (6, len(lengths)), generator=generator)
    draws[0] = torch.arange(len(lengths))
    want, plain, once = [], [], []
    for drawn in draws.tolist():
        groups = [
            [x for x, own in zip(values.tolist(), prompt.tolist()) if own == p]
            for p in drawn
        ]
        flat = sum(groups, [])
        want.append(sum(flat) / len(flat))
        plain.append(sum(sum(g) / len(g) for g in groups) / len(groups))
        named = [x for x, own in zip(values.tolist(), prompt.tolist()) if own in drawn]
        once.append(sum(named) / len(named))
    want, plain, once = (
        torch.tensor(x, dtype=torch.float64) for x in (want, plain, once)
    )
    mistakes = {
        "prompts weigh equally, whatever their length": plain,
        "a prompt that was drawn twice counts once": once,
        "values are drawn, not prompts": values[draws].mean(1),
    }
    mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
    given = values.clone(), prompt.clone(), draws.clone()
    got = answer.resampled(*given)
    name = f"the result for prompts of {lengths} values"
    # Sums of at most 24 numbers below 12.
    expect_same(got, want, tolerance=1e-12, mistakes=mistakes, name=name)
    expect_same(given, (values, prompt, draws), name="your arguments after the call")


@check(points=2, likely="prompts are drawn, with all of their values.")
def test_resampled(answer):
    """Prompts of equally many values, value by value"""
    generator = torch.Generator().manual_seed(1830)
    for lengths in ([3, 3, 3], [1, 1, 1, 1, 1], [4, 4]):
        expect_resampled(answer, lengths, generator)


@check(points=2, likely="the mean is over values: a long prompt weighs more.")
def test_lengths(answer):
    """Prompts of different lengths"""
    generator = torch.Generator().manual_seed(1832)
    for lengths in ([1, 6, 2, 4], [5, 1], [2, 9, 2]):
        expect_resampled(answer, lengths, generator)


@check(points=3, likely="between has m prompts' means in it, within the rows of each.")
def test_design_effect(answer):
    """Independent, equal and mirrored rows, and random ones by loops"""
    generator = torch.Generator().manual_seed(1831)
    tables = [
        torch.tensor([[1.0], [4.0], [2.0]], dtype=torch.float64).expand(3, 5),  # all alike
        torch.tensor([[-1.0, 1.0], [2.0, -2.0]], dtype=torch.float64),  # no difference
        torch.randn(4, 6, generator=generator, dtype=torch.float64),
        torch.randn(7, 3, generator=generator, dtype=torch.float64)
        + torch.randn(7, 1, generator=generator, dtype=torch.float64),
    ]
    for table in tables:
        rows = [list(row) for row in table.tolist()]
        prompts, m = len(rows), len(rows[0])
        means = [sum(row) / m for row in rows]
        mean = sum(means) / prompts
        between = m * sum((x - mean) ** 2 for x in means) / (prompts - 1)
        within = sum(
            (x - own) ** 2 for row, own in zip(rows, means) for x in row
        ) / prompts / (m - 1)
        rho = (between - within) / (between + (m - 1) * within)
        want = 1 + (m - 1) * rho
        small = between / m
        wrong = (small - within) / (small + (m - 1) * within)
        mistakes = {
            "it is rho alone": rho,
            "the means' variance is not multiplied by m": 1 + (m - 1) * wrong,
            "1 + m rho": 1 + m * rho,
            "it is its root": abs(want) ** 0.5,
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        given = table.clone()
        got = answer.design_effect(given)
        name = f"the result for {prompts} prompts of {m} rows"
        expect_same(got, want, tolerance=1e-11, mistakes=mistakes, name=name)
        expect_same(given, table.clone(), name="your argument after the call")
