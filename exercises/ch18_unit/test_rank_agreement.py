"""Checks of ch18/rank_agreement."""

import torch
from scipy import stats

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=5,
    title="Two corpora, one ranking?",
    difficulty=3,
    minutes=40,
    hints=(
        "A rank counts how many entries are smaller. What do three equal entries have in "
        "common, and what is the mean of their three places?",
        "rank = (entries below) + (entries equal, itself among them, + 1) / 2. Spearman's "
        "is the ordinary correlation of ranks, so take their mean off first.",
        "itself = 2 r / (1 + r) with r between the halves x[::2] and x[1::2]; the result "
        "is r between the corpora over sqrt(itself of one times itself of the other).",
    ),
)


@check(points=2, likely="equal entries share the mean of their places.")
def test_ranks(answer):
    """Ranks with and without ties"""
    for numbers in (
        [3.0, 1.0, 2.0], [5.0, 5.0, 5.0], [0.0, 2.0, 2.0, -1.0, 2.0], [7.0], [1.0, 1.0, 0.0]
    ):
        x = torch.tensor(numbers, dtype=torch.float64)
        want = torch.from_numpy(stats.rankdata(numbers)).double()
        kinds = {
            "ties get the smallest of their places": "min",
            "ties get the largest of their places": "max",
            "ties are put in an order": "ordinal",
            "ranks are without gaps": "dense",
        }
        mistakes = {
            k: torch.from_numpy(stats.rankdata(numbers, kind)).double()
            for k, kind in kinds.items()
        }
        mistakes["ranks start at 0"] = want - 1
        mistakes["the largest has rank 1"] = len(x) + 1 - want
        mistakes = {k: m for k, m in mistakes.items() if not torch.equal(m, want)}
        got = answer.ranks(x)
        expect_same(got, want, mistakes=mistakes, name=f"the result for {numbers}")
        same = torch.tensor(numbers, dtype=torch.float64)
        expect_same(x, same, name="your argument after the call")


def table(generator, prompts, noise, truth):
    """Heads' numbers on prompts, in whole tenths, so that ties are common."""
    x = truth + noise * torch.randn(
        prompts, len(truth), generator=generator, dtype=torch.float64
    )
    return (10 * x).round() / 10


def rho(one, other):
    return float(stats.spearmanr(one.numpy(), other.numpy()).statistic)


@check(points=2, likely="correlate ranks, not values, and take out their means.")
def test_rank_agreement(answer):
    """Spearman's correlation, with ties, against scipy"""
    generator = torch.Generator().manual_seed(1850)
    for heads, scale in ((4, 1.0), (12, 0.3), (40, 1.0)):
        one = (10 * scale * torch.randn(heads, generator=generator)).round().double()
        other = (one + 5 * torch.randn(heads, generator=generator).double()).round().exp()
        want = rho(one, other)
        both = torch.stack([one, other])
        mistakes = {
            "values are correlated, not ranks": torch.corrcoef(both)[0, 1].item(),
            "the sign is lost": abs(want),
            "it is squared": want**2,
            "it is Kendall's": float(stats.kendalltau(one.numpy(), other.numpy()).statistic),
        }
        mistakes = {k: m for k, m in mistakes.items() if abs(m - want) > 1e-6}
        for sign in (1, -1):
            got = answer.rank_agreement(sign * one, other)
            # Sums of 40 products of ranks.
            expect_same(got, sign * want, tolerance=1e-12, mistakes=mistakes)


@check(points=4, likely="each corpus has its own noise, stepped up from half to all.")
def test_without_noise(answer):
    """What noise hides, on random corpora of different size"""
    generator = torch.Generator().manual_seed(1851)
    for prompts, others, noise, apart in ((6, 6, 0.5, 0.0), (4, 10, 1.0, 0.5), (2, 8, 0.7, 0.3)):
        truth = torch.randn(30, generator=generator, dtype=torch.float64)
        second = truth + apart * torch.randn(30, generator=generator, dtype=torch.float64)
        one = table(generator, prompts, noise, truth)
        other = table(generator, others, 2 * noise, second)
        halves = [rho(x[::2].mean(0), x[1::2].mean(0)) for x in (one, other)]
        itself = [2 * r / (1 + r) for r in halves]
        between = rho(one.mean(0), other.mean(0))
        want = between / (itself[0] * itself[1]) ** 0.5
        mistakes = {
            "halves are not stepped up to all prompts": (
                between / (halves[0] * halves[1]) ** 0.5
            ),
            "the root is left out": between / (itself[0] * itself[1]),
            "only the first corpus has noise": between / itself[0],
            "nothing is corrected": between,
            "the first half is compared with the second": between / (
                torch.tensor([
                    2 * r / (1 + r)
                    for x in (one, other)
                    for r in [rho(x[: len(x) // 2].mean(0), x[len(x) // 2 :].mean(0))]
                ]).double().prod().sqrt().item()
            ),
        }
        mistakes = {k: m for k, m in mistakes.items() if abs(m - want) > 1e-6}
        given = one.clone(), other.clone()
        got = answer.without_noise(*given)
        name = f"the result for {prompts} and {others} prompts"
        expect_same(got, want, tolerance=1e-10, mistakes=mistakes, name=name)
        expect_same(given, (one, other), name="your arguments after the call")
