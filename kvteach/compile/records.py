"""Calibration records: what was tried on which prompt, and what it cost.

A record is one rollout. Actions are dealt like cards: every head draws from a deck of its
own that holds each weight once, and a new deck is shuffled when the old one is empty; so
do the thresholds of every layer. Corpora and budgets have separate decks. The log is then
as even as it can be, which conservative learning needs: see `kvteach.compile.cql`.
"""

import hashlib
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch

from kvteach.compile import rollouts, texts
from kvteach.shards import JsonPlan

HEAD_WEIGHTS = tuple(round(0.8 + 0.025 * i, 3) for i in range(29))
"""Weights that a head may get."""
THRESHOLDS = tuple(round(0.8 + 0.01 * i, 2) for i in range(21))
"""Thresholds that a layer may get."""
CORPORA = ("english", "code")
EVEN = len(HEAD_WEIGHTS) * len(CORPORA)
"""Prompts a budget after which every deck is empty: multiples of it log evenly."""


@dataclass(frozen=True)
class Plan(JsonPlan):
    """Everything that decides what the records will be."""

    identity: str
    dtype: str
    prompts: int
    tokens: int
    continuation: int
    window: int
    rollouts: int  # a prompt
    budgets: tuple  # shares of the prompt; prompts take turns
    seed: int
    sources: tuple
    texts: tuple  # SHA-256 of each prompt's ids
    versions: dict

    noun = "texts"

    def turn(self, index):
        """(corpus, budget, how many prompts had both before) of prompt ``index``."""
        budget, corpus = index % len(self.budgets), index // len(self.budgets) % 2
        return corpus, budget, index // (2 * len(self.budgets))

    def actions(self, index, layers, kv_heads):
        """Indices into the grids, [R, L, K] and [R, L] uint8, of prompt ``index``."""
        corpus, budget, before = self.turn(index)
        first = before * self.rollouts
        dealt = [
            deal((self.seed, corpus, budget, kind), first, self.rollouts, grid, players)
            for kind, (grid, players) in enumerate(
                ((len(HEAD_WEIGHTS), layers * kv_heads), (len(THRESHOLDS), layers))
            )
        ]
        return dealt[0].reshape(self.rollouts, layers, kv_heads), dealt[1]


def make_plan(
    loaded, prompts=232, tokens=1024, continuation=128, window=64, rollouts=21,
    budgets=(0.25, 0.125), seed=0,
):
    """Choose the texts; returns (`Plan`, list of ids [tokens + continuation]).

    loaded: what `kvteach.models.load` gives. prompts: half speeches, half code, taking
    turns. Raises ValueError for numbers out of range or too few texts, CorpusError when
    a corpus is missing.
    """
    import transformers

    _check(prompts, tokens, continuation, window, rollouts, budgets)
    of_corpus, sources = [], []
    counts = [0, 0]
    for index in range(prompts):
        counts[index // len(budgets) % 2] += 1
    generator = torch.Generator().manual_seed(seed)
    for corpus, count in enumerate(counts):
        chosen, found = texts.choose(
            loaded.tokenizer, count, tokens + continuation, generator, code=float(corpus)
        )
        of_corpus.append(iter(chosen))
        sources += found
    chosen = [next(of_corpus[i // len(budgets) % 2]) for i in range(prompts)]
    plan = Plan(
        loaded.identity, str(loaded.model.dtype).removeprefix("torch."), prompts, tokens,
        continuation, window, rollouts, tuple(budgets), seed, tuple(sources),
        tuple(hashlib.sha256(ids.long().numpy().tobytes()).hexdigest() for ids in chosen),
        {"torch": torch.__version__, "transformers": transformers.__version__},
    )
    return plan, chosen


def _check(prompts, tokens, continuation, window, rollouts, budgets):
    least = 2 * max(len(budgets), 1)
    for name, value, low in (
        ("prompts", prompts, least), ("tokens", tokens, window + 1), ("window", window, 1),
        ("continuation", continuation, 1), ("rollouts", rollouts, 1),
    ):
        if value < low:
            raise ValueError(f"{name}: {value}; need at least {low}")
    legal = all(0 < share < 1 for share in budgets)
    if not budgets or not legal or len(set(budgets)) < len(budgets):
        raise ValueError(f"budgets: {budgets}; need distinct shares between 0 and 1")


def deal(seed, first, count, cards, players):
    """Cards first .. first + count - 1 of every player's endless sequence of decks.

    seed: a tuple of ints; each deck of ``cards`` cards is shuffled for each player by a
    seed of its own, so any part can be dealt without the parts before. Returns
    [count, players] uint8.
    """
    decks = [
        np.random.default_rng((*seed, deck)).random((cards, players)).argsort(0)
        for deck in range(first // cards, (first + count - 1) // cards + 1)
    ]
    skip = first % cards
    return np.concatenate(decks)[skip : skip + count].astype(np.uint8)


def measure(model, plan, index, tokens):
    """The records of prompt ``index``: (table, one line for people).

    Columns: prompt, corpus, budget and rollout (numbers), entropy, perplexity, full
    (nats over the full cache), loss (nats after the cut), heads [L K] and gates [L]
    (indices into the grids), over and kept [L] (keys).
    """
    began = time.perf_counter()
    corpus, budget, _ = plan.turn(index)
    prompt = rollouts.read(model, tokens, plan.continuation, plan.window)
    layers, kv_heads = prompt.utility_lkt.shape[:2]
    heads, gates = plan.actions(index, layers, kv_heads)
    loss_r, over_rl, kept_rl = rollouts.roll(
        model, prompt,
        torch.tensor(HEAD_WEIGHTS)[torch.from_numpy(heads).long()],
        torch.tensor(THRESHOLDS)[torch.from_numpy(gates).long()],
        max(1, int(plan.budgets[budget] * prompt.length + 1e-9)),
    )
    same = {"prompt": index, "corpus": corpus, "budget": budget}
    known = {"entropy": prompt.entropy, "perplexity": prompt.perplexity, "full": prompt.loss}
    count = len(loss_r)
    columns = {name: pa.array([value] * count, pa.int32()) for name, value in same.items()}
    columns["rollout"] = pa.array(range(count), pa.int32())
    columns |= {name: pa.array([value] * count, pa.float64()) for name, value in known.items()}
    columns["loss"] = pa.array(loss_r.numpy())
    columns["heads"] = _lists(heads.reshape(count, -1), pa.uint8())
    columns["gates"] = _lists(gates, pa.uint8())
    columns["over"] = _lists(over_rl.numpy(), pa.int32())
    columns["kept"] = _lists(kept_rl.numpy(), pa.int32())
    words = (
        f"{CORPORA[corpus]}, {plan.budgets[budget]:g} of the keys: {prompt.loss:.3f} nats "
        f"full, {loss_r.mean():.3f} cut, {time.perf_counter() - began:.0f} s"
    )
    return pa.table(columns), words


def _lists(rows, kind):
    """Rows of equal length as a column."""
    flat = pa.array(np.ascontiguousarray(rows).reshape(-1), kind)
    return pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])
