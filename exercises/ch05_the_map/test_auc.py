"""Checks of ch05/auc."""

from fractions import Fraction

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=3,
    title="How well a number tells",
    difficulty=2,
    minutes=25,
    hints=(
        "Every runner of one team meets every runner of the other. How do you count "
        "the wins of a team from the times alone, without holding all the races?",
        "Sort the scores of the negative rows. For one positive row, how many are "
        "below, and how many are equal? torch.searchsorted finds both.",
        "searchsorted with right=False counts those below, with right=True those not "
        "above; half of their sum, over positives * negatives, is the AUC.",
    ),
)

ROUNDING = 1e-12
"""A count of pairs, divided once: exact in float64 up to 1e-16."""
PARTS = "index", "auc", "down"


def by_pairs(score, label, tie=Fraction(1, 2)):
    """The definition, pair by pair."""
    rows = list(zip(score.tolist(), label.tolist()))
    above = [x for x, positive in rows if positive]
    below = [x for x, positive in rows if not positive]
    wins = sum((a > b) + tie * (a == b) for a in above for b in below)
    return float(Fraction(wins) / (len(above) * len(below)))


def random_scores(seed, n, steps=None):
    """Scores that tell something about a label; ``steps`` makes many of them equal."""
    generator = torch.Generator().manual_seed(seed)
    label = torch.rand(n, generator=generator) < 0.3
    score = torch.randn(n, generator=generator).double() + 0.8 * label
    return (score if steps is None else (steps * score).floor() / steps), label


@check(points=2, likely="positives above negatives count, over all pairs of the two.")
def test_pairs(answer):
    """A few rows by hand, and random ones"""
    score = torch.tensor([0.1, 0.4, 0.35, 0.8], dtype=torch.float64)
    label = torch.tensor([False, False, True, True])
    mistakes = {
        "negatives above positives are counted": 0.25,
        "the wins are divided by all pairs of rows": 0.5,
    }
    got = answer.auc(score, label)
    expect_same(got, 0.75, tolerance=ROUNDING, mistakes=mistakes)
    for seed, n in ((508, 9), (509, 40)):
        score, label = random_scores(seed, n)
        got, want = answer.auc(score, label), by_pairs(score, label)
        expect_same(got, want, tolerance=ROUNDING, name=f"the AUC of {n} rows")


@check(points=2, likely="equal scores count one half, whichever comes first.")
def test_ties(answer):
    """Many equal scores, and nothing but equal scores"""
    for seed in (510, 511):
        score, label = random_scores(seed, 50, steps=1)
        mistakes = {
            "equal scores count as lost": by_pairs(score, label, tie=0),
            "equal scores count as won": by_pairs(score, label, tie=1),
        }
        got, want = answer.auc(score, label), by_pairs(score, label)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    got = answer.auc(0 * score, label)
    expect_same(got, 0.5, tolerance=ROUNDING, name="the AUC of a constant score")


@check(points=1, likely="the pairs are formed one by one, or counted in float32.")
def test_many_rows(answer):
    """Two hundred thousand rows: ten billion pairs"""
    n = 100_000
    # Positive row i scores 2 i + 1 and beats the negative rows 0 .. i, at 2 i.
    score = torch.arange(2 * n, dtype=torch.float64).reshape(n, 2).T.reshape(-1)
    label = torch.arange(2 * n) >= n
    want = (n + 1) / (2 * n)
    expect_same(answer.auc(score, label), want, tolerance=ROUNDING)


@check(points=2, likely="a score that points down tells as much as one that points up.")
def test_which_predicts(answer):
    """Several scores, up and down, with equal ones"""
    up, label = random_scores(512, 60)
    noise, _ = random_scores(513, 60)
    weak = up + 3 * noise
    for scores, index, down in (
        ([weak, -up, noise], 1, True),
        ([weak, up, -weak], 1, False),
        ([-weak, weak], 0, by_pairs(-weak, label) < 0.5),
        ([up, -up], 0, False),
    ):
        value = by_pairs(scores[index], label)
        want = index, max(value, 1 - value), down
        mistakes = {"the AUC is not turned round": (index, value, down)}
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.which_predicts(torch.stack(scores), label)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=1, likely="without both kinds there is no pair.")
def test_one_kind(answer):
    """All rows positive, all rows negative: ValueError"""
    score = torch.tensor([0.3, 0.1, 0.2], dtype=torch.float64)
    for label in (torch.ones(3), torch.zeros(3)):
        expect_raises(answer.auc, score, label.bool(), mentions="label")
