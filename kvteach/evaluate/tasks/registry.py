"""The tasks by name, and what the bundled model scores on them with its full cache.

A task that the model fails with every key tells nothing about keys that went. Scores
are in ``full_cache.json``; ``python -m kvteach.evaluate.tasks`` measures them.
"""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

from kvteach.evaluate.tasks import copying, facts, lists
from kvteach.evaluate.tasks.haystack import Source

ABLE = 0.9
"""A task is offered at lengths where the full cache scores at least this."""


class FullCache(NamedTuple):
    """Means over ``questions`` questions of ``contexts`` documents, full cache.

    exact: share of questions whose answer tokens are all right; tokens: share of
    answer tokens that are right; nll: nats per answer token.
    """

    exact: float
    tokens: float
    nll: float
    questions: int
    contexts: int


@dataclass(frozen=True)
class Task:
    """A named generator of examples.

    make(source, length, generator, depths) gives one `Example`. corpus: where its real
    text comes from. decides: "exact" or "tokens", the field of `FullCache` by which
    the task is offered and scored.
    """

    name: str
    make: Callable
    corpus: str = "english"
    decides: str = "exact"

    def examples(self, tokenizer, length, count, generator, depths=None):
        """``count`` examples with documents of ``length`` tokens, a list.

        generator: a torch generator; its seed decides everything, and the first
        examples are the same whatever ``count`` is. depths: where facts go, one
        number in [0, 1] each; at random in equal slices by default. Raises
        ValueError for numbers out of range, `CorpusError` when text is missing.
        """
        if count < 1:
            raise ValueError(f"count: {count}; need at least 1")
        source = Source(self.corpus, tokenizer, generator)
        return [self.make(source, length, generator, depths) for _ in range(count)]

    @property
    def full_cache(self):
        """The bundled model's scores by length, {length: `FullCache`}."""
        measured = measurements()["scores"].get(self.name, {})
        return {
            int(n): FullCache(**score)
            for n, score in sorted(measured.items(), key=lambda item: int(item[0]))
        }

    def offered(self, length):
        """Whether the bundled model can do the task on documents of ``length`` tokens.

        Judged by the shortest measured length that is no shorter; False beyond all.
        """
        longer = [score for n, score in self.full_cache.items() if n >= length]
        return bool(longer) and getattr(longer[0], self.decides) >= ABLE


@functools.cache
def measurements():
    """What full_cache.json holds: {"made": how it was measured, "scores": ...}."""
    file = resources.files("kvteach.evaluate.tasks") / "full_cache.json"
    return json.loads(file.read_text())


TASKS = {
    task.name: task
    for task in (
        Task("mixed_facts", facts.mixed_facts),
        Task("needle", facts.needle),
        Task("same_facts", facts.same_facts),
        Task("multi_value", facts.multi_value),
        Task("variable_tracking", facts.variable_tracking),
        Task("passkey", lists.passkey),
        Task("repeated_span", copying.repeated_span, decides="tokens"),
        Task("repeated_code", copying.repeated_span, "code", decides="tokens"),
        Task("code_lookup", copying.code_lookup, "code"),
        Task("frequent_word", lists.frequent_word),
        Task("few_shot", lists.few_shot),
    )
}
"""Every task; mixed_facts is the main one."""


def get(name):
    """The `Task` of that name, offered or not, or ValueError."""
    if name not in TASKS:
        raise ValueError(f"task: {name!r}; there are {', '.join(TASKS)}")
    return TASKS[name]


def offered(length):
    """Tasks that the bundled model can do at ``length`` tokens, main one first."""
    return [task for task in TASKS.values() if task.offered(length)]
