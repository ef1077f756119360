"""What a comparison will measure, written down before anything is measured."""

import functools
import hashlib
from dataclasses import dataclass

import torch

from kvteach import methods
from kvteach.bundled import BUNDLED
from kvteach.engine.plan import CONDITIONS
from kvteach.evaluate import tasks
from kvteach.shards import JsonPlan, PlanError

REFERENCE = "contourkv"
"""The method that every other is paired with."""


@dataclass(frozen=True)
class Plan(JsonPlan):
    """Everything that decides what answers.parquet will hold."""

    model: str
    identity: str
    dtype: str
    tasks: tuple
    tokens: int
    documents: int
    questions: int  # at most, a document; 0 for all
    methods: tuple
    budgets: tuple
    conditions: tuple
    seed: int
    texts: tuple  # SHA-256 of each example's ids, tasks in order
    versions: dict

    @property
    def count(self):
        """Units of work: a document of a task each."""
        return len(self.tasks) * self.documents

    def example(self, index, tokenizer):
        """The example of unit ``index``, or PlanError where the text is another."""
        task, number = divmod(index, self.documents)
        made = examples(self.tasks[task], tokenizer, self.tokens, self.documents, self.seed)
        if digest(made[number]) != self.texts[index]:
            raise PlanError(
                f"document {number} of {self.tasks[task]} is not the text on this machine"
            )
        return made[number]


@functools.lru_cache(maxsize=8)
def examples(task, tokenizer, tokens, count, seed):
    """``count`` examples of a task; the first are the same whatever the count."""
    generator = torch.Generator().manual_seed(seed)
    return tasks.get(task).examples(tokenizer, tokens, count, generator)


def digest(example):
    """SHA-256 over the ids of a document and its questions."""
    parts = [example.document]
    for question in example.questions:
        parts += [question.tokens, question.answer]
    return hashlib.sha256(torch.cat(parts).long().numpy().tobytes()).hexdigest()


def make_plan(
    loaded,
    task_names=("mixed_facts",),
    tokens=1024,
    documents=48,
    questions=0,
    method_names=None,
    budgets=(0.5, 0.25),
    conditions=("after",),
    seed=0,
):
    """Check what was asked and return the `Plan`; PlanError where it cannot be."""
    import transformers

    names = tuple(method_names or (
        name for name in methods.METHODS
        if loaded.name == BUNDLED or name not in methods.FITTED
    ))
    _check(task_names, documents, questions, names, budgets, conditions, seed, tokens)
    try:
        made = [
            example
            for task in task_names
            for example in examples(task, loaded.tokenizer, tokens, documents, seed)
        ]
    except ValueError as error:
        raise PlanError(str(error)) from error
    return Plan(
        loaded.name, loaded.identity, str(loaded.model.dtype).removeprefix("torch."),
        tuple(task_names), tokens, documents, questions, names, tuple(budgets),
        tuple(conditions), seed, tuple(digest(example) for example in made),
        {"torch": torch.__version__, "transformers": transformers.__version__},
    )


def _check(task_names, documents, questions, names, budgets, conditions, seed, tokens):
    for task in task_names:
        if task not in tasks.TASKS:
            raise PlanError(f"tasks: {task!r}; there are {', '.join(tasks.TASKS)}")
    for name in names:
        try:
            methods.get(name)
        except ValueError as error:
            raise PlanError(f"methods: {error}") from error
    for condition in conditions:
        if condition not in CONDITIONS:
            raise PlanError(f"conditions: {condition!r}; there are {', '.join(CONDITIONS)}")
    for what, given in (("tasks", task_names), ("methods", names), ("budgets", budgets),
                        ("conditions", conditions)):
        if not given or len(set(given)) < len(given):
            raise PlanError(f"{what}: {list(given)}; need distinct ones, at least one")
    if not all(isinstance(b, float) and 0 < b < 1 for b in budgets):
        raise PlanError(f"budgets: {list(budgets)}; need shares of the keys between 0 and 1")
    if documents < 2:
        raise PlanError(f"documents: {documents}; intervals over documents need at least 2")
    for name, value in (("questions", questions), ("seed", seed)):
        if value < 0:
            raise PlanError(f"{name}: {value} is negative; need >= 0")
    if tokens < 64:
        raise PlanError(f"tokens: {tokens}; documents need at least 64")
