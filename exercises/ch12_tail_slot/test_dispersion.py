"""Checks of ch12/dispersion."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=4,
    title="The cost of a tail",
    difficulty=2,
    minutes=25,
    hints=(
        "Two evicted keys of equal score with values +1 and -1: how heavy is that tail, "
        "and how far from its mean are its values? And with one of them evicted?",
        "Rank once. For each b the tail is what follows in that order; its weights must "
        "be divided by its own mass before a mean is taken.",
        "Measure distances from the tail's mean. Mean of squares less square of the mean "
        "is the same in mathematics and loses all digits for values of size 1e6.",
    ),
)


def case(seed, length, forced=0, zeros=0, levels=None, shift=0.0):
    """(scores, values): forced scores are +inf, some 0, many equal with levels."""
    generator = torch.Generator().manual_seed(seed)
    score = torch.rand(length, generator=generator, dtype=torch.float64) ** 2
    if levels:
        score = torch.randint(1, levels + 1, (length,), generator=generator).double()
    order = torch.randperm(length, generator=generator)
    score[order[:forced]] = math.inf
    score[order[forced : forced + zeros]] = 0
    values = torch.randn(length, 3, generator=generator, dtype=torch.float64)
    return score, values + shift


def by_pairs(score, values, ranked=None):
    """c(b) from c^2 = sum over pairs i < j of the tail pi_i pi_j ||v_i - v_j||^2."""
    score_list = score.tolist()
    if ranked is None:
        ranked = sorted(range(len(score)), key=lambda j: (-score_list[j], j))
    ranked = [j for j in ranked if score_list[j] < math.inf]
    total = math.fsum(score_list[j] for j in ranked)
    cost = []
    for b in range(len(ranked) + 1):
        tail = ranked[b:]
        pairs = (
            score_list[i] * score_list[j] * (values[i] - values[j]).square().sum().item()
            for n, i in enumerate(tail) for j in tail[:n]
        )  # fmt: skip
        cost.append(math.sqrt(math.fsum(pairs)) / total if total else 0.0)
    return torch.tensor(cost, dtype=torch.float64)


@check(points=2, likely="mass times root mean square distance, weights over the tail's mass.")
def test_by_hand(answer):
    """Small heads by hand"""
    inf = math.inf
    for score, values, want in (
        ([0.3, 0.3], [1.0, -1.0], [1.0, 0.0, 0.0]),
        ([0.5, 0.25, 0.25], [0.0, 2.0, -2.0], [math.sqrt(2), 1.0, 0.0, 0.0]),
        ([0.1, inf, 0.3], [4.0, 9.0, 0.0], [4 * math.sqrt(3) / 4, 0.0, 0.0]),
    ):
        score = torch.tensor(score, dtype=torch.float64)
        values = torch.tensor(values, dtype=torch.float64)[:, None]
        want = torch.tensor(want, dtype=torch.float64)
        finite = score[score < inf] / score[score < inf].sum()
        mass = torch.cat([finite.sort(descending=True).values.flip(0).cumsum(0).flip(0),
                          torch.zeros(1, dtype=torch.float64)])  # fmt: skip
        per_mass = want / mass.clamp_min(1e-9)
        mistakes = {
            "distances are not multiplied by the mass": per_mass,
            "squares are not rooted": mass * per_mass.square(),
        }
        mistakes = {k: x for k, x in mistakes.items() if (x - want).abs().max() > 1e-6}
        got = answer.cost_curve(score, values)
        expect_same(got, want, tolerance=1e-9, mistakes=mistakes)


@check(points=3, likely="rank by score, leave +inf out, and the smaller position first.")
def test_real_sizes(answer):
    """Forced keys, scores of 0 and equal scores"""
    for seed, length, forced, zeros, levels in (
        (1231, 20, 0, 0, None), (1232, 24, 5, 0, None), (1233, 24, 3, 6, None),
        (1234, 30, 2, 0, 3), (1235, 4, 4, 0, None), (1236, 1, 0, 0, None),
    ):  # fmt: skip
        score, values = case(seed, length, forced, zeros, levels)
        want = by_pairs(score, values)
        backwards = sorted(range(length), key=lambda j: (-score[j].item(), -j))
        mistakes = {"of equal scores the later comes first": by_pairs(score, values, backwards),
                    "keys are not ranked": by_pairs(score, values, range(length))}  # fmt: skip
        mistakes = {k: x for k, x in mistakes.items() if (x - want).abs().max() > 1e-6}
        got = answer.cost_curve(score, values)
        # Six digits: a rounded zero under the root is 1e-8.
        expect_same(got, want, tolerance=1e-6, mistakes=mistakes,
                    name=f"the curve of {length} keys, {forced} forced")  # fmt: skip


@check(points=2, likely="mean of squares less square of the mean cancels; measure distances.")
def test_shifted_values(answer):
    """A million added to all values changes nothing"""
    score, values = case(1237, 25, forced=2)
    want = by_pairs(score, values)
    got = answer.cost_curve(score, values + 1e6)
    expect_same(got, want, tolerance=1e-6)
