"""From calibration records to tables: who gets the credit, and what is chosen.

Rewards are minus the loss, counted from the mean of the prompt's own rollouts: prompts
differ far more than actions do, and what is common to all actions of a prompt says
nothing about them. Both tables are fitted to the same rollouts.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from kvteach.budgets.tables import Tables, risk_bins
from kvteach.compile import cql
from kvteach.compile.records import CORPORA, HEAD_WEIGHTS, THRESHOLDS

BINS = (5, 2)
"""Bins of entropy and of perplexity. The paper has 20 and 4, for 50,000 prompts."""
NEUTRAL, SAFE = HEAD_WEIGHTS.index(1.0), THRESHOLDS.index(0.8)
"""Actions of a state that no record visits: weight 1, the lowest threshold."""


@dataclass(frozen=True)
class Records:
    """N rollouts. Prompt, corpus, budget: numbers, [N]; heads [N, L, K], gates [N, L]."""

    prompt_n: torch.Tensor
    corpus_n: torch.Tensor
    budget_n: torch.Tensor
    entropy_n: torch.Tensor
    perplexity_n: torch.Tensor
    loss_n: torch.Tensor  # nats a token after the cut
    heads_nlk: torch.Tensor  # indices into HEAD_WEIGHTS
    gates_nl: torch.Tensor  # indices into THRESHOLDS
    over_nl: torch.Tensor  # keys over the budget before the cut

    @classmethod
    def of(cls, table):
        """The records of a table that `kvteach.compile.records.measure` filled."""

        def column(name):
            return torch.from_numpy(table[name].to_numpy(zero_copy_only=False).copy())

        def lists(name):
            flat = table[name].combine_chunks().flatten().to_numpy()
            return torch.from_numpy(flat.reshape(len(table), -1).astype(np.int64))

        gates = lists("gates")
        heads = lists("heads").view(*gates.shape, -1)
        return cls(
            *(column(n).long() for n in ("prompt", "corpus", "budget")),
            *(column(n).double() for n in ("entropy", "perplexity", "loss")),
            heads, gates, lists("over"),
        )

    def where(self, chosen_n):
        """The records that a mask or indices choose."""
        return Records(*(getattr(self, name)[chosen_n] for name in self.__annotations__))

    def rewards(self):
        """Minus the loss, above the mean of the prompt's rollouts, [N] float64."""
        _, group_n = self.prompt_n.unique(return_inverse=True)
        count = torch.bincount(group_n)
        total = torch.zeros(len(count), dtype=torch.float64)
        total.index_add_(0, group_n, self.loss_n)
        return (total / count)[group_n] - self.loss_n


class Report(NamedTuple):
    """How the records support the two tables."""

    heads: cql.Coverage
    gate: cql.Coverage

    def __str__(self):
        return f"head weights: {self.heads}\nthresholds: {self.gate}"


def fit(records, plan, bins=BINS, learner="cql", conservatism=cql.CONSERVATISM):
    """`Tables` and the `Report` of their support.

    learner: "cql" for the exact minimum of conservative Q-learning, "average" for the
    action of the best mean reward. bins: of entropy and of perplexity, with equally many
    prompts on either side of every edge. Raises ValueError for another learner, for
    bins below 1 and for no records.
    """
    if learner not in LEARNERS:
        raise ValueError(f"learner: {learner!r}; there are {', '.join(LEARNERS)}")
    if len(bins) != 2 or min(bins) < 1:
        raise ValueError(f"bins: {bins}; need two whole numbers >= 1")
    if not len(records.loss_n):
        raise ValueError("records: there are none")
    heads, head_summary = head_values(records, len(plan.budgets))
    edges = risk_edges(records, bins)
    gates, gate_summary = gate_values(records, len(plan.budgets), edges, plan.tokens)
    q_heads, q_gates = (
        LEARNERS[learner](summary, conservatism)
        for summary in (head_summary, gate_summary)
    )
    tables = Tables(
        _actions(q_heads, head_summary, NEUTRAL, HEAD_WEIGHTS).view(heads),
        _actions(q_gates, gate_summary, SAFE, THRESHOLDS).view(gates),
        *edges,
        tuple(plan.budgets),
        plan.window,
        _about(records, plan, learner, conservatism),
    )
    return tables, Report(cql.coverage(head_summary), cql.coverage(gate_summary))


LEARNERS = {"cql": cql.solve, "average": lambda summary, _: cql.average(summary)}
"""How a table is learned from a summary."""


def head_values(records, budgets):
    """Shape (B, L, K) of the head states, and the `cql.Summary` over them, flattened."""
    count, layers, kv_heads = records.heads_nlk.shape
    place_lk = torch.arange(layers * kv_heads).view(layers, kv_heads)
    state = records.budget_n[:, None, None] * (layers * kv_heads) + place_lk
    reward = records.rewards()[:, None, None].expand(count, layers, kv_heads)
    log = cql.Log(state.flatten(), records.heads_nlk.flatten(), reward.flatten())
    shape = (budgets, layers, kv_heads)
    return shape, log.summary(budgets * layers * kv_heads, len(HEAD_WEIGHTS))


def gate_values(records, budgets, edges, tokens):
    """Shape (B, L, E, P) of the gate's states, and the `cql.Summary` over them.

    Its reward also pays for keys over the budget before the cut, in shares of the prompt,
    which had ``tokens`` tokens.
    """
    count, layers = records.gates_nl.shape
    shape = (budgets, layers, len(edges[0]) + 1, len(edges[1]) + 1)
    risk_n = (
        risk_bins(records.entropy_n, edges[0]) * shape[3]
        + risk_bins(records.perplexity_n, edges[1])
    )
    place_nl = records.budget_n[:, None] * layers + torch.arange(layers)
    state = place_nl * (shape[2] * shape[3]) + risk_n[:, None]
    reward = records.rewards()[:, None] - records.over_nl.double() / tokens
    log = cql.Log(state.flatten(), records.gates_nl.flatten(), reward.flatten())
    return shape, log.summary(int(np.prod(shape)), len(THRESHOLDS))


def risk_edges(records, bins):
    """Quantile edges of entropy and perplexity over prompts, [E - 1] and [P - 1]."""
    _, group_n = records.prompt_n.unique(return_inverse=True)
    first = torch.zeros(int(group_n.max()) + 1, dtype=torch.long)
    first[group_n.flip(0)] = torch.arange(len(group_n)).flip(0)
    edges = []
    for values, count in zip((records.entropy_n, records.perplexity_n), bins):
        shares = torch.arange(1, count, dtype=torch.float64) / count
        edges.append(values[first].quantile(shares))
    return edges


def slopes(records, budgets):
    """Reward for each unit of head weight, [B, L, K]: least squares over all records.

    A table's best action is one noisy winner of 29; the slope uses every rollout.
    """
    shape, summary = head_values(records, budgets)
    grid = torch.tensor(HEAD_WEIGHTS, dtype=torch.float64)
    share = summary.share_sa
    centred = grid - (share * grid).sum(1, keepdim=True)
    along = (share * centred * summary.mean_sa).sum(1)
    return (along / (share * centred.square()).sum(1)).view(shape)


def _actions(q_sa, summary, fallback, grid):
    """What every state does, float32."""
    return torch.tensor(grid)[cql.choose(q_sa, summary, fallback)]


def _about(records, plan, learner, conservatism):
    corpora = [CORPORA[i] for i in records.corpus_n.unique().tolist()]
    return {
        "model": plan.identity,
        "dtype": plan.dtype,
        "kind": "compilerkv",
        "learner": learner,
        "conservatism": conservatism,
        "prompts": len(records.prompt_n.unique()),
        "rollouts": plan.rollouts,
        "tokens": plan.tokens,
        "continuation": plan.continuation,
        "corpora": corpora,
        "corpus": list(plan.sources),
        "seed": plan.seed,
        "versions": plan.versions,
    }
