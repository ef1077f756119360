"""Checks of ch18/table_bound."""

import math

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="A bound for all cells at once",
    difficulty=2,
    minutes=20,
    hints=(
        "With what probability is one given cell off by more than e, at most? And any of "
        "G cells?",
        "2 G exp(-N e^2 / (2 M^2)) = delta; solve for e. For the regret, e is half of it: "
        "the chosen cell may be too high and the best one too low.",
        "e = M sqrt(2 ln(2 G / delta) / N); N = 2 ln(2 G / delta) (M / e)^2, rounded up; "
        "independent trials are distinct prompts.",
    ),
)

CASES = ((1.0, 1, 100, 0.05), (0.5, 200, 84, 0.05), (2.0, 5220, 1000, 0.01), (3.0, 7, 1, 0.5))


def chance(error, reach, cells, trials):
    """What Hoeffding and the union allow for: the probability that some cell fails."""
    return 2 * cells * math.exp(-trials * error**2 / (2 * reach**2))


@check(points=2, likely="the chances of all cells add up to delta.")
def test_bound(answer):
    """The error at which the chances add up to delta, by bisection"""
    for reach, cells, trials, delta in CASES:
        low, high = 0.0, 100 * reach
        for _ in range(200):
            middle = (low + high) / 2
            if chance(middle, reach, cells, trials) > delta:
                low = middle
            else:
                high = middle
        one = reach * math.sqrt(2 * math.log(2 / delta) / trials)
        mistakes = {
            "only one cell is asked about": one,
            "one side of the error is forgotten": reach * math.sqrt(
                2 * math.log(cells / delta) / trials
            ),
            "M is taken for the whole range": middle / 2,
            "the root is left out": middle**2,
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - middle) > 1e-6}
        got = answer.table_bound(reach, cells, trials, delta)
        name = f"the result for M {reach}, {cells} cells, {trials} trials, delta {delta}"
        # Bisection ends at neighbouring floats below 400.
        expect_same(got, middle, tolerance=1e-10, mistakes=mistakes, name=name)
    for wrong in (0.0, 1.0, 2.0, -0.1):
        expect_raises(answer.table_bound, 1.0, 5, 10, wrong, mentions="delta")


@check(points=3, likely="two cells may be off, each by half of the regret.")
def test_needed(answer):
    """The fewest trials: they suffice, and one less does not"""
    for reach, cells, regret, delta in (
        (1.0, 1, 0.5, 0.05), (0.5, 58, 0.1, 0.05), (2.0, 5220, 0.01, 0.01), (0.1, 2, 5.0, 0.5)
    ):
        got = answer.trials_needed(reach, cells, regret, delta)
        name = f"the result for M {reach}, {cells} cells, regret {regret}, delta {delta}"
        expect(type(got) is int, f"{name} must be an int")
        expect(
            got >= 1 and chance(regret / 2, reach, cells, got) <= delta * (1 + 1e-9),
            f"{name} is {got}: too few for half of the regret",
        )
        fewer = got - 1
        expect(
            not fewer or chance(regret / 2, reach, cells, fewer) > delta,
            f"{name} is {got}, but {fewer} would do",
        )


@check(points=1, likely="rows of one prompt are one trial.")
def test_independent(answer):
    """Rows of a prompt count once"""
    for trials, want in (
        ([], 0), ([(3, 0)], 1), ([(3, 0), (3, 1), (3, 2)], 1),
        ([(0, 5), (1, 5), (2, 5)], 3), ([(4, 1), (2, 0), (4, 0), (2, 0), (9, 9)], 3),
    ):
        expect_same(answer.independent(trials), want, name=f"the result for {trials}")
