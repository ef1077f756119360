"""The answers of one document under every method, budget and condition: one table.

A document is read once, or once a question where the question may be seen before the
eviction; every score is computed once; every answer is scored by one pass that tells
what greedy decoding would do (`kvteach.evaluate.metrics.answer`).
"""

import pyarrow as pa
import torch

from kvteach import methods
from kvteach.engine import Reading
from kvteach.evaluate.metrics import answer
from kvteach.shards import PlanError, Shards, open_folder
from kvteach.evaluate.work import fill, load_once, one_thread, tell

SCHEMA = pa.schema({
    "task": pa.string(),
    "document": pa.int32(),
    "cluster": pa.string(),
    "question": pa.int32(),
    "depth": pa.float64(),
    "condition": pa.string(),
    "method": pa.string(),
    "enforced": pa.bool_(),
    "budget": pa.float64(),
    "exact": pa.bool_(),
    "tokens": pa.float64(),
    "nll": pa.float64(),
    "held_bytes": pa.int64(),
    "nominal_bytes": pa.int64(),
    "full_bytes": pa.int64(),
})
"""One record per document, question, condition, method, enforcement and budget.

The full cache has one record a question, with budget 1. A method that must keep
more keys than a budget has, or ranks by more rows than a document, has no record there.
"""


def measure_answers(folder, plan, jobs=None, say=None):
    """Measure what ``folder`` lacks of a plan; returns the table of all answers.

    jobs: processes, as joblib counts them; say: called with each line of progress.
    Raises PlanError when the folder holds another plan.
    """
    open_folder(folder, plan, "comparison")
    shards = Shards(folder, "answers", plan.count)
    fill(shards, measure, (plan,), jobs, say or tell, "document")
    return shards.merge()


def measure(plan, index):
    """The `SCHEMA` table of unit ``index`` of a plan."""
    loaded = load_once(plan.model, plan.dtype)
    if loaded.identity != plan.identity:
        raise PlanError(f"model: here it is {loaded.identity}, the plan names {plan.identity}")
    example = plan.example(index, loaded.tokenizer)
    questions = example.questions[: plan.questions or None]
    records = []
    with one_thread():
        if "after" in plan.conditions:
            reading = Reading(loaded.model, example.document)
            for key, session in sessions(reading, plan, None):
                records += _records(key, "after", session, questions, _asked(session, questions))
        seen = [c for c in plan.conditions if c != "after"]
        for number, question in enumerate(questions if seen else ()):
            reading = Reading(loaded.model, example.document, question.tokens)
            for condition in seen:
                ranking = example.length if condition == "document" else None
                for key, session in sessions(reading, plan, ranking):
                    told = answer(session.logits(question.answer)[0, :-1], question.answer)
                    records += _records(key, condition, session, [question], [told], number)
    document = {"task": example.task, "document": index % plan.documents,
                "cluster": example.cluster}
    return pa.Table.from_pylist([document | record for record in records], SCHEMA)


def sessions(reading, plan, ranking):
    """((method, enforced, budget), session) of everything that the plan compares."""
    yield ("full", True, 1.0), reading.compress("full")
    for name in plan.methods:
        if name == "full":
            continue
        loose = methods.unenforced(name)
        for budget in plan.budgets:
            for enforced, method in ((True, methods.get(name)), (False, loose)):
                if method is None:
                    continue
                try:
                    session = reading.compress(method, budget, ranking=ranking)
                except ValueError as error:
                    if not str(error).startswith(("budget:", "tokens:")):
                        raise
                    continue
                yield (name, enforced, budget), session


def _asked(session, questions):
    """The `Answer` to each question after one document, asked as one batch.

    Shorter ones are filled up on the right with token 0, which no earlier token sees.
    """
    read = [torch.cat([q.tokens, q.answer]) for q in questions]
    padded = torch.nn.utils.rnn.pad_sequence(read, batch_first=True)
    logits = session.fork(len(questions)).logits(padded)
    return [
        answer(row[len(q.tokens) : len(q.tokens) + len(q.answer)], q.answer)
        for row, q in zip(logits, questions)
    ]


def _records(key, condition, session, questions, answers, first=0):
    method, enforced, budget = key
    ledger = session.ledger
    return [
        {
            "question": first + number,
            "depth": question.depth,
            "condition": condition,
            "method": method,
            "enforced": enforced,
            "budget": budget,
            "exact": told.exact,
            "tokens": told.tokens,
            "nll": told.loss,
            "held_bytes": ledger.compressed,
            "nominal_bytes": ledger.nominal,
            "full_bytes": ledger.full,
        }
        for number, (question, told) in enumerate(zip(questions, answers))
    ]
