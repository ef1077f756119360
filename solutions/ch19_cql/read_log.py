"""What a log of trials says, and what to do with it."""

import torch


def read_log(state_n, action_n, reward_n, states, actions):
    """Return how often each action was tried in each state, and its mean reward.

    state_n, action_n: [N] int64; reward_n: [N] float64; states, actions: ints

    Returns (count_sa, mean_sa), [states, actions] float64 each; the mean is 0 where
    nothing was tried. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    cell_n = state_n * actions + action_n
    count = torch.zeros(states * actions, dtype=torch.float64)
    total = torch.zeros(states * actions, dtype=torch.float64)
    count.index_add_(0, cell_n, torch.ones(len(cell_n), dtype=torch.float64))
    total.index_add_(0, cell_n, reward_n)
    mean = total / count.clamp_min(1)
    return count.view(states, actions), mean.view(states, actions)
    # END SOLUTION


def choose(q_sa, count_sa, least, fallback):
    """Return the action that a table takes in every state.

    The best one among those that were tried; of equal ones the first. A state with
    fewer than ``least`` trials in all takes ``fallback``.

    q_sa, count_sa: [S, A] float64; least: int >= 1; fallback: int

    Returns [S] int64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    worth_sa = q_sa.masked_fill(count_sa == 0, -torch.inf)
    known_s = count_sa.sum(1) >= least
    return torch.where(known_s, worth_sa.argmax(1), fallback)
    # END SOLUTION
