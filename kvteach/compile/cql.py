"""Conservative Q-learning for a table: what an action is worth, from logged trials only.

One decision, then a reward: a bandit, so nothing is bootstrapped. For each state s, with
logged shares p(a), mean rewards R(a) and one weight c (the paper's alpha_c),

    J(Q) = c (log sum_a e^Q(a) - sum_a p(a) Q(a)) + 1/2 sum_a p(a) (Q(a) - R(a))^2:

the second part makes Q agree with the log, the first pushes down what Q likes and pulls
up what was logged. At the minimum, for every action with p(a) > 0,

    Q(a) = R(a) + c (1 - softmax(Q)(a) / p(a)),

and Q is -inf where nothing was logged. An even log gives softmax(Q)(a) / p(a) the order of
Q, so argmax Q = argmax R; with an uneven one a rarely tried action pays for its rarity.
c is counted in rewards: where rewards differ by less, the log's unevenness decides.
"""

from typing import NamedTuple

import torch

CONSERVATISM = 0.75
"""c of CompilerKV's code."""


class Log(NamedTuple):
    """N logged trials: state, action (int64) and reward of each, [N]."""

    state_n: torch.Tensor
    action_n: torch.Tensor
    reward_n: torch.Tensor

    def summary(self, states, actions):
        """The `Summary` over that many states and actions.

        Raises ValueError for a state or action outside, and rewards that are not finite.
        """
        for name, given, size in (
            ("state_n", self.state_n, states), ("action_n", self.action_n, actions)
        ):
            if len(given) and not 0 <= given.min() <= given.max() < size:
                raise ValueError(
                    f"{name}: {int(given.min())} .. {int(given.max())}; legal are 0 .. "
                    f"{size - 1}"
                )
        if not torch.isfinite(self.reward_n).all():
            raise ValueError("reward_n: holds NaN or infinities; need finite rewards")
        cell_n = self.state_n * actions + self.action_n
        count = torch.bincount(cell_n, minlength=states * actions).double()
        total = torch.zeros(states * actions, dtype=torch.float64)
        total.index_add_(0, cell_n, self.reward_n.double())
        mean = total / count.clamp_min(1)
        return Summary(mean.view(states, actions), count.view(states, actions))


class Summary(NamedTuple):
    """All that tabular learning needs of a log, [S, A] float64 each."""

    mean_sa: torch.Tensor  # mean reward, 0 where there is no trial
    count_sa: torch.Tensor  # trials

    @property
    def share_sa(self):
        """p(a) of each state, 0 for a state without trials."""
        return self.count_sa / self.count_sa.sum(1, keepdim=True).clamp_min(1)


def average(summary):
    """The plain estimate: Q = R, -inf where nothing was logged, [S, A] float64."""
    return summary.mean_sa.masked_fill(summary.count_sa == 0, -torch.inf)


def solve(summary, conservatism=CONSERVATISM, steps=200):
    """The minimum of J in every state, exactly, [S, A] float64.

    Given Z = sum e^Q, each action solves Q + (c / p Z) e^Q = R + c by itself; the Z for
    which the answers sum to Z is bracketed and bisected, since log sum e^Q(Z) - log Z
    falls. Unsupported actions are -inf. Cost ``steps`` passes over the table. Raises
    ValueError for a negative conservatism.
    """
    _require(conservatism)
    known_sa = summary.count_sa > 0
    if conservatism == 0:
        return average(summary)
    wanted_sa = summary.mean_sa + conservatism
    push_sa = (conservatism / summary.share_sa).masked_fill(~known_sa, 1.0)

    def answer(log_z_s):
        q_sa = _balanced(wanted_sa, push_sa.log() - log_z_s[:, None])
        return q_sa.masked_fill(~known_sa, -torch.inf)

    # sum_a p Q = sum_a p R at the minimum, and no Q is above max R + c.
    low_s = summary.mean_sa.masked_fill(~known_sa, torch.inf).amin(1)
    low_s = torch.where(known_sa.any(1), low_s, 0.0)
    high_s = wanted_sa.masked_fill(~known_sa, -torch.inf).amax(1)
    high_s = torch.where(known_sa.any(1), high_s, 0.0) + known_sa.sum(1).clamp_min(1).log()
    for _ in range(steps):
        middle_s = (low_s + high_s) / 2
        above_s = answer(middle_s).logsumexp(1) > middle_s
        low_s = torch.where(above_s, middle_s, low_s)
        high_s = torch.where(above_s, high_s, middle_s)
        if not (high_s - low_s > 1e-15 * (1 + high_s.abs())).any():
            break
    return answer((low_s + high_s) / 2)


def _balanced(wanted, log_push, steps=60):
    """q with q + e^(log_push + q) = wanted, elementwise: wanted - W(e^(log_push + wanted)).

    W is Lambert's function. With y = log_push + q it is y + e^y = total, whose left side
    rises and is convex: Newton's method from above comes down to the root.
    """
    total = wanted + log_push
    y = torch.where(total > 1, total.clamp_min(1).log(), total)  # both at or above it
    for _ in range(steps):
        step = (y + y.exp() - total) / (1 + y.exp())
        y = y - step
        if not (step.abs() > 1e-15 * (1 + y.abs())).any():
            break
    return y - log_push


def gap(q_sa, summary, conservatism=CONSERVATISM):
    """How far Q is from stationary: Q - R - c (1 - softmax(Q) / p), 0 where p = 0.

    [S, A] float64; all zero at the minimum.
    """
    _require(conservatism)
    known_sa = summary.count_sa > 0
    softmax_sa = q_sa.double().softmax(1)
    share_sa = summary.share_sa.masked_fill(~known_sa, 1.0)
    target_sa = summary.mean_sa + conservatism * (1 - softmax_sa / share_sa)
    return torch.where(known_sa, q_sa.double() - target_sa, 0.0)


def train(
    log, states, actions, generator, conservatism=CONSERVATISM, epochs=10, batch=4096,
    rate=3e-4, decay=0.01, balance=True,
):
    """Q by gradient descent on the trials, [S, A] float32, as CompilerKV's code does.

    Starts at 0; AdamW over shuffled batches. balance: each trial weighs 1 / trials of
    its state, so that a rare state is learned as fast as a common one. Unsupported
    actions end finite but low: descent has no time for -inf. generator: a torch
    generator on the CPU; the log decides the device. Raises ValueError for a negative
    conservatism and an empty log.
    """
    _require(conservatism)
    if not len(log.state_n):
        raise ValueError("log: holds no trial")
    device = log.state_n.device
    q_sa = torch.zeros(states, actions, device=device, requires_grad=True)
    optimiser = torch.optim.AdamW([q_sa], lr=rate, weight_decay=decay)
    visits_s = torch.bincount(log.state_n, minlength=states)
    weight_n = 1.0 / visits_s[log.state_n] if balance else torch.ones(len(log.state_n))
    weight_n = (weight_n / weight_n.mean()).float().to(device)
    for _ in range(epochs):
        order = torch.randperm(len(log.state_n), generator=generator).to(device)
        for chosen in order.split(batch):
            q_na = q_sa[log.state_n[chosen]]
            taken_n = q_na.gather(1, log.action_n[chosen, None])[:, 0]
            loss_n = conservatism * (q_na.logsumexp(1) - taken_n)
            loss_n = loss_n + (taken_n - log.reward_n[chosen]).square() / 2
            optimiser.zero_grad()
            (weight_n[chosen] * loss_n).mean().backward()
            optimiser.step()
    return q_sa.detach()


def choose(q_sa, summary, fallback, least=1):
    """The best action of every state, [S] int64; ``fallback`` where too little is known.

    least: trials that a state must have. Equal actions: the first.
    """
    known_s = summary.count_sa.sum(1) >= max(least, 1)
    best_s = q_sa.masked_fill(summary.count_sa == 0, -torch.inf).argmax(1)
    return torch.where(known_s.to(best_s.device), best_s, fallback)


class Coverage(NamedTuple):
    """How well a log covers a table."""

    states: float  # share of the states with any trial
    cells: float  # share of (state, action) with any trial
    fewest: int  # trials of the least tried cell among states that have any
    median: float  # trials of a cell, over those states
    uneven: float  # mean over those states of max_a p(a) times A, minus 1

    def __str__(self):
        return (
            f"{self.states:.0%} of the states and {self.cells:.0%} of the cells were "
            f"tried; a cell of a known state {self.median:g} times (median), at least "
            f"{self.fewest}; the most tried action {self.uneven:+.1%} above an even log"
        )


def coverage(summary):
    """The `Coverage` of a log."""
    count_sa = summary.count_sa
    known = count_sa[count_sa.sum(1) > 0]
    if not len(known):
        return Coverage(0.0, 0.0, 0, 0.0, 0.0)
    share = known / known.sum(1, keepdim=True)
    return Coverage(
        len(known) / len(count_sa),
        (count_sa > 0).double().mean().item(),
        int(known.min()),
        known.median().item(),
        (share.amax(1) * count_sa.shape[1] - 1).mean().item(),
    )


def _require(conservatism):
    if not conservatism >= 0:
        raise ValueError(f"conservatism: {conservatism}; legal is 0 and above")
