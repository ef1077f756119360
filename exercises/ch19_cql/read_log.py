"""What a log of trials says, and what to do with it."""

import torch


def read_log(state_n, action_n, reward_n, states, actions):
    """Return how often each action was tried in each state, and its mean reward.

    state_n, action_n: [N] int64; reward_n: [N] float64; states, actions: ints

    Returns (count_sa, mean_sa), [states, actions] float64 each; the mean is 0 where
    nothing was tried. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch19/read_log is not solved yet: read chapter 19, "
        "edit exercises/ch19_cql/read_log.py, "
        "then run: kvteach grade ch19/read_log"
    )


def choose(q_sa, count_sa, least, fallback):
    """Return the action that a table takes in every state.

    The best one among those that were tried; of equal ones the first. A state with
    fewer than ``least`` trials in all takes ``fallback``.

    q_sa, count_sa: [S, A] float64; least: int >= 1; fallback: int

    Returns [S] int64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch19/read_log is not solved yet: read chapter 19, "
        "edit exercises/ch19_cql/read_log.py, "
        "then run: kvteach grade ch19/read_log"
    )
