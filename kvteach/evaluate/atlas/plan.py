"""What a map will measure, written down before anything is measured.

A plan names the model, every document with the hash of its tokens, the
positions to draw and the budgets. Two runs with equal plans measure equal rows;
a folder that holds another plan is refused.
"""

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from kvteach import corpora
from kvteach.rows.pool import published_extras
from kvteach.shards import JsonPlan, PlanError

BUDGETS = (4, 8, 16, 32, 64, 128, 256)
LARGEST_SOLVED = 32
"""Budgets up to this one have a published pool, whose best subset is found."""

AUDITED = 8
"""The budget of cell maps, deployed rules and cross-entropy, as published."""


@dataclass(frozen=True)
class Text:
    """One document: where it comes from and which tokens it gave."""

    corpus: str
    name: str
    sha256: str


@dataclass(frozen=True)
class Plan(JsonPlan):
    """Everything that decides what rows.parquet will hold."""

    model: str
    identity: str
    dtype: str
    layers: int
    heads: int
    kv_heads: int
    tokens: int
    positions: int
    budgets: tuple
    seed: int
    texts: tuple
    versions: dict

    @property
    def group_size(self):
        """R, query heads that share one key-value head."""
        return self.heads // self.kv_heads

    @property
    def rows_per_budget(self):
        """Rows that the plan measures at each budget."""
        return self.layers * self.heads * self.positions * len(self.texts)

    def positions_of(self, text, layer):
        """Positions [K, P] in [T/2, T), ascending, for one document and layer.

        The heads of a group share them, because the group vote compares heads at
        one position.
        """
        generator = np.random.default_rng([self.seed, text, layer])
        start = self.tokens // 2
        return np.stack(
            [
                start
                + np.sort(generator.permutation(self.tokens - start)[: self.positions])
                for _ in range(self.kv_heads)
            ]
        )

    @classmethod
    def from_json(cls, text):
        """The plan that `to_json` wrote."""
        plan = super().from_json(text)
        return replace(plan, texts=tuple(Text(**entry) for entry in plan.texts))

    def other_texts(self, theirs):
        """Words for documents that differ."""
        return f"other documents ({len(theirs)}, asked for {len(self.texts)})"


def check_arguments(documents, tokens, positions, budgets, seed):
    """Raise PlanError for the first number outside its range."""
    if documents < 2:
        raise PlanError(
            f"documents: {documents}; intervals over documents need at least 2"
        )
    if not budgets or len(set(budgets)) < len(budgets) or min(budgets) < 1:
        raise PlanError(f"budgets: {list(budgets)}; need distinct numbers of keys >= 1")
    fewest = max(size + published_extras(size) for size in budgets)
    if tokens < 2 * fewest:
        raise PlanError(
            f"tokens: {tokens}; rows of the second half must hold {fewest} keys for "
            f"budget {max(budgets)}, so at least {2 * fewest} tokens"
        )
    if not 1 <= positions <= tokens // 2:
        raise PlanError(
            f"positions: {positions} is outside 1 .. {tokens // 2}, half the tokens"
        )
    if seed < 0:
        raise PlanError(f"seed: {seed} is negative; need >= 0")


def make_plan(loaded, documents=9, tokens=1024, positions=6, budgets=BUDGETS, seed=0):
    """Choose documents and return the `Plan`.

    loaded: from `models.load`. documents: how many, spread evenly over the
    corpora that are on this machine. Raises PlanError for numbers out of range
    and for texts that are too few or too short.
    """
    import torch
    import transformers

    check_arguments(documents, tokens, positions, budgets, seed)
    config = loaded.model.config
    longest = getattr(config, "max_position_embeddings", tokens)
    if tokens > longest:
        raise PlanError(f"tokens: {tokens}; {loaded.name} reads at most {longest}")
    return Plan(
        model=loaded.name,
        identity=loaded.identity,
        dtype=str(loaded.model.dtype).removeprefix("torch."),
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        tokens=tokens,
        positions=positions,
        budgets=tuple(sorted(budgets)),
        seed=seed,
        texts=choose_texts(loaded.tokenizer, documents, tokens, seed),
        versions={
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "numpy": np.__version__,
        },
    )


def choose_texts(tokenizer, count, tokens, seed, skip=0):
    """``count`` texts that hold enough tokens, the corpora taking turns.

    Each corpus is shuffled by the seed; ``skip`` passes over the first texts of
    the sequence, for documents that the map has not seen.
    """
    streams = []
    for number, corpus in enumerate(corpora.NAMES):
        try:
            found = corpora.documents(corpus)
        except corpora.CorpusError:
            continue
        order = np.random.default_rng([seed, number]).permutation(len(found))
        streams.append(_long_enough([found[i] for i in order], tokenizer, tokens))
    chosen = []
    while streams and len(chosen) < skip + count:
        for stream in list(streams):
            text = next(stream, None)
            if text is None:
                streams.remove(stream)
            else:
                chosen.append(text)
    if len(chosen) < skip + count:
        raise PlanError(
            f"documents: {skip + count}; only {len(chosen)} on this machine hold "
            f"{tokens} tokens"
        )
    return tuple(chosen[skip : skip + count])


def tokens_of(text, tokenizer, length):
    """Token ids [length] of a text, or PlanError if they are no longer the same."""
    found = [d for d in corpora.documents(text.corpus) if d.name == text.name]
    tokens = found[0].tokens(tokenizer, length) if found else None
    if tokens is None or _digest(tokens) != text.sha256:
        raise PlanError(
            f"texts: {text.corpus}/{text.name} is not the text on this "
            "machine that the plan names"
        )
    return tokens


def _long_enough(documents, tokenizer, length):
    for document in documents:
        try:
            tokens = document.tokens(tokenizer, length)
        except ValueError:
            continue
        yield Text(document.corpus, document.name, _digest(tokens))


def _digest(tokens):
    return hashlib.sha256(tokens.cpu().long().numpy().tobytes()).hexdigest()
