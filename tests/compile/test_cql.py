"""Conservative Q-learning for a table: what its minimum is, and what training finds."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from kvteach.compile import cql


def random_log(generator, states=6, actions=5, trials=4000):
    """Uneven random trials; the last state sees only two of the actions."""
    weight = torch.rand(states, actions, generator=generator) ** 2 + 0.02
    weight[-1, 2:] = 0
    state = torch.randint(states, (trials,), generator=generator)
    action = torch.multinomial(weight[state], 1, generator=generator)[:, 0]
    worth = torch.randn(states, actions, generator=generator)
    reward = worth[state, action] + 0.1 * torch.randn(trials, generator=generator)
    return cql.Log(state, action, reward)


def even_log(rewards_sa, times=3):
    """Every action of every state so many times, with noise that sums to 0."""
    states, actions = rewards_sa.shape
    cells = torch.arange(states * actions).repeat(times)
    noise = torch.linspace(-1, 1, times).repeat_interleave(states * actions)
    return cql.Log(cells // actions, cells % actions, rewards_sa.flatten()[cells] + noise)


def objective(q_a, mean_a, share_a, conservatism):
    """J of one state, written out in plain numbers."""
    top = max(q_a)
    total = top + math.log(sum(math.exp(q - top) for q in q_a))
    return sum(
        p * (conservatism * (total - q) + (q - r) ** 2 / 2)
        for q, r, p in zip(q_a, mean_a, share_a)
    )


# --- the minimum --------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.sampled_from([0.01, 0.75, 10.0]), st.floats(0.01, 30))
def test_solution_is_stationary(seed, conservatism, scale):
    generator = torch.Generator().manual_seed(seed)
    log = random_log(generator, trials=200)
    summary = log._replace(reward_n=log.reward_n * scale).summary(6, 5)
    q = cql.solve(summary, conservatism)
    # The bracket is bisected to 1e-15; a share of 1/200 multiplies what is left.
    assert cql.gap(q, summary, conservatism).abs().max() < 1e-9 * (1 + scale + conservatism)
    assert torch.equal(torch.isinf(q), summary.count_sa == 0)


def test_solution_is_where_a_general_minimiser_ends(generator):
    summary = random_log(generator, states=4).summary(4, 5)
    ours = cql.solve(summary)
    for state in range(4):
        known = summary.count_sa[state] > 0
        mean, share = (t[state][known].tolist() for t in (summary.mean_sa, summary.share_sa))
        found = minimize(
            objective, [0.0] * len(mean), (mean, share, 0.75), method="BFGS",
            options={"gtol": 1e-9},
        )
        # BFGS with numerical gradients stops at about 1e-6.
        assert ours[state][known].tolist() == pytest.approx(found.x.tolist(), abs=1e-4)


def test_logged_mean_is_kept(generator):
    """sum_a p Q = sum_a p R: the push moves worth between actions, it takes none."""
    summary = random_log(generator).summary(6, 5)
    q = cql.solve(summary).masked_fill(summary.count_sa == 0, 0)
    ours = (summary.share_sa * q).sum(1)
    theirs = (summary.share_sa * summary.mean_sa).sum(1)
    assert torch.allclose(ours, theirs, atol=1e-10)  # rounding of sums of float64


@given(st.integers(0, 2**31))
def test_even_log_leaves_the_best_action_alone(seed):
    rewards = torch.randn(7, 9, generator=torch.Generator().manual_seed(seed)).double()
    summary = even_log(rewards).summary(7, 9)
    assert torch.equal(cql.solve(summary).argmax(1), rewards.argmax(1))
    assert torch.equal(cql.average(summary).argmax(1), rewards.argmax(1))


def lucky(trials=100):
    """One state: .9 seen in a tenth of the trials, .4 and .3 in the others."""
    action = torch.tensor([0] * (trials // 10) + [1] * (3 * trials // 10))
    action = torch.cat([action, torch.full((trials - len(action),), 2)])
    reward = torch.tensor([0.9, 0.4, 0.3])[action]
    return cql.Log(torch.zeros(trials, dtype=torch.long), action, reward)


def test_uneven_log_avoids_the_rare_lucky_action():
    summary = lucky().summary(1, 3)
    assert cql.average(summary).argmax() == 0
    assert cql.solve(summary).argmax() != 0
    assert cql.solve(summary, 0.01).argmax() == 0  # c below the rewards' differences


def test_without_conservatism_it_is_the_mean(generator):
    summary = random_log(generator).summary(6, 5)
    assert torch.equal(cql.solve(summary, 0), cql.average(summary))
    # c -> 0: Q - R = c (1 - softmax / p), and the bracket is at most 1 / p <= 4000.
    known = summary.count_sa > 0
    off = (cql.solve(summary, 1e-9) - summary.mean_sa)[known]
    assert off.abs().max() < 4e-6


# --- training -----------------------------------------------------------------


def test_training_meets_the_condition(generator):
    log = random_log(generator)
    q = cql.train(log, 6, 5, generator, epochs=800, batch=4096, rate=0.02, decay=0)
    summary = log.summary(6, 5)
    known = summary.count_sa > 0
    exact = cql.solve(summary)
    # Where all actions are supported descent arrives; float32 and Adam's last steps
    # leave some thousandths.
    full = known.all(1)
    assert cql.gap(q, summary)[full].abs().max() < 0.01
    assert (q - exact)[full].abs().max() < 0.01
    # What was never logged is pushed far down, and the rest comes close.
    assert q[-1, 2:].max() < q[-1, :2].min() - 1
    assert torch.equal(q[-1, :2].argmax(), exact[-1, :2].argmax())


@pytest.mark.parametrize("balance", [True, False])
def test_balance_of_states_leaves_the_minimum_alone(generator, balance):
    """Two states with the same rewards, one with a fiftieth of the trials.

    A state's weight scales its part of J; its minimum stays, and AdamW, which divides
    by the size of the gradient, hardly notices.
    """
    log = cql.Log(*(torch.cat(pair) for pair in zip(lucky(5000), lucky(100))))
    log = log._replace(state_n=(torch.arange(5100) >= 5000).long())
    q = cql.train(
        log, 2, 3, generator, epochs=150, batch=256, rate=3e-3, decay=0, balance=balance
    )
    exact = cql.solve(log.summary(2, 3))
    # The rare state has five trials a batch: its steps are noisier.
    assert (q - exact)[0].abs().max() < 0.03
    assert (q - exact)[1].abs().max() < 0.1


# --- choosing -----------------------------------------------------------------


def test_unknown_states_fall_back():
    summary = lucky().summary(3, 3)
    q = cql.solve(summary)
    assert cql.choose(q, summary, fallback=7)[1:].tolist() == [7, 7]
    assert cql.choose(q, summary, fallback=7)[0] == q[0].argmax()
    assert cql.choose(q, summary, fallback=7, least=101).tolist() == [7, 7, 7]


def test_coverage_counts():
    found = cql.coverage(lucky().summary(2, 4))
    assert (found.states, found.cells) == (0.5, 3 / 8)
    assert (found.fewest, found.median) == (0, 10)  # of 0, 10, 30, 60
    assert found.uneven == pytest.approx(0.6 * 4 - 1)
    assert "50% of the states" in str(found)


def test_bad_logs_are_named():
    log = lucky()
    with pytest.raises(ValueError, match="action_n: 0 .. 2; legal are 0 .. 1"):
        log.summary(1, 2)
    with pytest.raises(ValueError, match="reward_n"):
        log._replace(reward_n=log.reward_n * torch.nan).summary(1, 3)
    with pytest.raises(ValueError, match="conservatism: -1"):
        cql.solve(log.summary(1, 3), -1)
    with pytest.raises(ValueError, match="log: holds no trial"):
        cql.train(cql.Log(*(t[:0] for t in log)), 1, 3, torch.Generator())
