"""Checks of ch19/read_log."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=1,
    title="What a log says",
    difficulty=1,
    minutes=15,
    hints=(
        "Every trial belongs to one cell of a table with `states` rows. Which number has "
        "that cell if the table is laid out flat?",
        "Cell state * actions + action; index_add_ adds one value a trial, also where a "
        "cell is named twice. Divide by the count, but never by 0.",
        "For the choice set Q to -inf where nothing was tried, before argmax; then "
        "torch.where(count_sa.sum(1) >= least, best, fallback).",
    ),
)

PARTS = "count", "mean"


def random_trials(seed, states=4, actions=3, trials=40):
    """A log in which state 2 never comes and state 3 sees one action."""
    generator = torch.Generator().manual_seed(seed)
    state = torch.tensor([0, 1, 3])[torch.randint(3, (trials,), generator=generator)]
    action = torch.randint(actions, (trials,), generator=generator)
    action[state == 3] = 1
    # Whole numbers of quarters: sums are exact in any order.
    reward = torch.randint(-9, 5, (trials,), generator=generator).double() / 4
    return state, action, reward, states, actions


@check(points=2, likely="a trial is counted in its own cell, and each one counts.")
def test_counts_and_means(answer):
    """Counts and means of random logs, cell by cell"""
    for seed in (1901, 1902):
        given = random_trials(seed)
        state, action, reward, states, actions = given
        cells = {}
        for s, a, r in zip(state.tolist(), action.tolist(), reward.tolist()):
            cells.setdefault((s, a), []).append(r)
        count = torch.zeros(states, actions, dtype=torch.float64)
        mean, total, last = count.clone(), count.clone(), count.clone()
        for (s, a), rewards in cells.items():
            count[s, a], total[s, a] = len(rewards), sum(rewards)
            mean[s, a], last[s, a] = sum(rewards) / len(rewards), rewards[-1]
        mistakes = {
            "rewards are summed, not averaged": (count, total),
            "a cell keeps its last reward only": (count, last),
            "the sum is divided by all trials of the state": (
                count, total / count.sum(1, keepdim=True).clamp_min(1)
            ),
        }
        kept = [t.clone() for t in given[:3]]
        got = answer.read_log(*given)
        # One division of an exact sum.
        expect_same(got, (count, mean), tolerance=1e-14, mistakes=mistakes, parts=PARTS)
        for one, other in zip(given[:3], kept):
            expect_same(one, other, name="your argument after the call")


Q = torch.tensor(
    [[-0.5, -0.2, 0.0], [-1.0, -1.0, -2.0], [0.0, 0.0, 0.0], [-3.0, 5.0, -1.0]],
    dtype=torch.float64,
)
COUNT = torch.tensor([[9, 4, 0], [3, 3, 6], [0, 0, 0], [2, 0, 1]], dtype=torch.float64)


def expect_choice(answer, least, fallback, want):
    """Compare the choice with the one written down."""
    known = COUNT.sum(1) >= least
    among = Q.masked_fill(COUNT == 0, -torch.inf).argmax(1)
    mistakes = {
        "actions that were never tried compete": torch.where(known, Q.argmax(1), fallback),
        "every action needs `least` trials, not the state": torch.where(
            COUNT.amin(1) >= least, among, fallback
        ),
    }
    want = torch.tensor(want)
    mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
    given = Q.clone(), COUNT.clone()
    got = answer.choose(*given, least, fallback)
    name = f"the result for least {least}, fallback {fallback}"
    expect_same(got, want, mistakes=mistakes, name=name)
    expect_same(given, (Q, COUNT), name="your arguments after the call")


@check(points=2, likely="what was never tried is no candidate, however good its Q looks.")
def test_choice(answer):
    """All rewards are losses: a 0 that nobody tried is not the best"""
    expect_choice(answer, 1, 2, [1, 0, 2, 2])
    expect_choice(answer, 1, 1, [1, 0, 1, 2])
    expect_choice(answer, 3, 0, [1, 0, 0, 2])


@check(points=2, likely="a state is known by all of its trials together.")
def test_fallback(answer):
    """States with too few trials"""
    expect_choice(answer, 4, 1, [1, 0, 1, 1])
    expect_choice(answer, 13, 0, [1, 0, 0, 0])
    expect_choice(answer, 14, 2, [2, 2, 2, 2])
