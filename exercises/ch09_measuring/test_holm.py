"""Checks of ch09/holm."""

import numpy as np

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="A table full of p-values",
    difficulty=2,
    minutes=20,
    hints=(
        "You reject from the strongest evidence on. After each rejection, how many "
        "hypotheses are left that you could still be wrong about?",
        "Sort, multiply the smallest by m, the next by m - 1, and so on; carry the "
        "largest value so far along; put everything back where it came from.",
        "np.maximum.accumulate(p[order] * np.arange(m, 0, -1)), at most 1, goes to "
        "adjusted[order].",
    ),
)

ROUNDING = 1e-12
"""One product each: float64 rounds to about 1e-16."""


def step_down(p, alpha):
    """Which are rejected, by the rule as Holm states it."""
    rejected, left = [False] * len(p), sorted(range(len(p)), key=lambda i: p[i])
    while left and p[left[0]] <= alpha / len(left):
        rejected[left.pop(0)] = True
    return rejected


def adjusted(p):
    """The least alpha at which each is rejected, straight from the definition."""
    found = []
    for x in p:
        below = sorted(y for y in p if y <= x)
        found.append(min(1.0, max((len(p) - i) * y for i, y in enumerate(below))))
    return np.array(found)


@check(points=2, likely="the i-th smallest is multiplied by m - i + 1.")
def test_by_hand(answer):
    """Four p-values by hand, and random ones"""
    p = np.array([0.01, 0.04, 0.03, 0.005])
    want = np.array([0.03, 0.06, 0.06, 0.02])
    mistakes = {
        "all are multiplied by m": 4 * p,
        "they stay in sorted order": np.sort(want),
        "a larger p-value may get a smaller adjusted one": np.array(
            [0.03, 0.04, 0.06, 0.02]
        ),
        "the false discovery rate is adjusted": np.array([0.02, 0.04, 0.04, 0.02]),
    }
    got = answer.holm(p)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)
    generator = np.random.default_rng(931)
    for m in (1, 6, 40):
        p = generator.random(m) ** 3
        got, want = answer.holm(p), adjusted(p.tolist())
        expect_same(got, want, tolerance=ROUNDING, name=f"{m} adjusted p-values")


@check(points=1, likely="equal p-values stay equal, and nothing exceeds 1.")
def test_ties_and_ones(answer):
    """Equal p-values, zeros and ones"""
    for p, want in (
        ([0.02, 0.5, 0.02, 0.9], [0.08, 1.0, 0.08, 1.0]),
        ([1.0, 1.0, 0.0], [1.0, 1.0, 0.0]),
        ([0.3, 0.3, 0.3], [0.9, 0.9, 0.9]),
    ):
        got = answer.holm(np.array(p))
        name = f"the adjusted p-values of {p}"
        expect_same(got, np.array(want), tolerance=ROUNDING, name=name)


@check(points=2, likely="the adjusted p-value decides; the sign says for whom.")
def test_record(answer):
    """Wins, ties and losses after the correction"""
    parts = "wins", "ties", "losses"
    differences = np.array([0.2, 0.3, -0.1, 0.05, 0.0])
    p = np.array([0.001, 0.004, 0.012, 0.02, 0.0])
    mistakes = {
        "the p-values are not adjusted": (3, 1, 1),
        "a difference of 0 is won": (3, 2, 0),
        "wins and losses change places": (0, 3, 2),
    }
    # Adjusted: .004, .012, .024, .024, 0.
    got = answer.record(differences, p, alpha=0.02)
    expect_same(got, (2, 3, 0), mistakes=mistakes, parts=parts)
    got = answer.record(differences, np.ones(5))
    expect_same(got, (0, 5, 0), name="the record of nothing", parts=parts)
    generator = np.random.default_rng(932)
    for m, alpha in ((7, 0.05), (60, 0.2), (60, 0.01)):
        p, off = generator.random(m) ** 6, generator.normal(size=m)
        hit = np.array(step_down(p.tolist(), alpha))
        wins, losses = int((hit & (off > 0)).sum()), int((hit & (off < 0)).sum())
        got = answer.record(off, p, alpha)
        name = f"the record of {m} cells at {alpha}"
        expect_same(got, (wins, m - wins - losses, losses), name=name, parts=parts)
    p, off = np.array([0.02, 0.024]), np.array([1.0, -1.0])
    got = answer.record(off, p)
    expect_same(got, (1, 0, 1), name="the record at the default level", parts=parts)


@check(points=1, likely="a NaN is neither below 0 nor above 1.")
def test_refused(answer):
    """What is no probability: ValueError"""
    for wrong in (-0.1, 1.5, float("nan")):
        expect_raises(answer.holm, np.array([0.2, wrong]), mentions="p")
