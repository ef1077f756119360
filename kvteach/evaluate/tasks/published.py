"""Published long-context sets by name, from the Hub or from a file in their format.

| name | place on the Hub | configuration | scored by |
|---|---|---|---|
| ``ruler`` | simonjegou/ruler | length, such as "4096" | every answer in the text |
| ``needles`` | the same, its ``niah`` tasks | length | every answer in the text |
| ``longbench`` | Xnhyacinth/LongBench | task, such as "qasper" | best F1 |
| ``longbench-v2`` | zai-org/LongBench-v2 | none | the letter of the choice |

The Hub is read by the package ``datasets``: ``pip install 'kvteach[data]'``.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from kvteach.evaluate.tasks.example import Example, ask, encode, opening
from kvteach.evaluate.tasks.haystack import depths_of, hide
from kvteach.evaluate.tasks.registry import Task

INSTALL = "pip install 'kvteach[data]'"


class DataError(RuntimeError):
    """A data set cannot be read; the message says why and what to do."""


@dataclass(frozen=True)
class Published:
    """A set: where it lies, how a row is asked, which of its rows count.

    asked(row) gives (question, answers). scored: "every", "f1" or "choice".
    """

    name: str
    place: str
    split: str
    scored: str
    asked: Callable
    wanted: Callable = lambda row: True


def load(name, tokenizer, config=None, place=None, longest=None, limit=None):
    """Examples of a published set, one per different context, in its order; a list.

    config: see the table. place: instead of the Hub, a ``.jsonl`` file or a folder
    with rows in the same columns. longest: contexts of more tokens are left out, never
    cut. limit: at most so many contexts. Questions on one context come together, and
    the context is its own cluster. Raises ValueError for an unknown name or a column
    that is missing, DataError when the data cannot be had.
    """
    if name not in SETS:
        raise ValueError(f"name: {name!r}; there are {', '.join(SETS)}")
    chosen, examples = SETS[name], []
    rows = [
        row
        for row in _rows(place or chosen.place, config, chosen.split)
        if chosen.wanted(row)
    ]
    for context, own in _by_context(rows).items():
        document = torch.cat([opening(tokenizer), encode(tokenizer, context)])
        if longest is not None and len(document) > longest:
            continue
        questions = tuple(_question(tokenizer, *chosen.asked(row)) for row in own)
        task = own[0].get("task") or own[0].get("dataset") or name
        meta = {"set": name, "scored": chosen.scored}
        examples.append(Example(document, questions, _digest(context), task, meta))
        if len(examples) == limit:
            break
    return examples


def passages(file):
    """A `Task` of questions on passages out of the user's own ``.jsonl`` file.

    Columns context, question, and answers (a list, SQuAD's form, or one text as
    ``answer``). An example hides one passage, drawn with replacement, in real prose;
    its cluster is the passage. It states no full-cache score: measure it first.
    """
    groups = list(_by_context(_rows(file, None, None)).items())

    def make(source, length, generator, depths):
        place = int(torch.randint(len(groups), (), generator=generator))
        context, rows = groups[place]
        depths = depths_of(1, depths, generator)
        document, found, _ = hide(source, [f"\n\n{context}\n\n"], length, depths)
        questions = tuple(
            _question(source.tokenizer, *_plain(row), depth=found[0]) for row in rows
        )
        meta = {"scored": "f1"}
        return Example(document, questions, _digest(context), "passages", meta)

    return Task("passages", make)


# --- rows -------------------------------------------------------------------------


def _rows(place, config, split):
    """Rows as dictionaries, from a file of JSON lines or through ``datasets``."""
    if str(place).endswith(".jsonl"):
        if not Path(place).is_file():
            raise DataError(f"There is no file {str(place)!r}")
        lines = Path(place).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    try:
        import datasets
    except ImportError as error:
        raise DataError(
            f"Reading {str(place)!r} needs the package datasets: {INSTALL}; or give a "
            "file of JSON lines as place"
        ) from error
    try:
        return list(datasets.load_dataset(str(place), config, split=split))
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(
            f"The data set {str(place)!r} ({config or 'default'}, {split}) cannot be "
            f"read: {reason}. Without a network, give a file of JSON lines as place"
        ) from error


def _by_context(rows):
    groups = {}
    for row in rows:
        groups.setdefault(_column(row, "context"), []).append(row)
    return groups


def _column(row, name):
    if not row.get(name):
        raise ValueError(f"rows: one has no {name!r}; it has {sorted(row)}")
    return row[name]


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# --- how a row is asked --------------------------------------------------------------


def _question(tokenizer, question, answers, depth=float("nan")):
    """The first answer is the one that is scored token by token."""
    return ask(tokenizer, f"\n\n{question}", answers[0], depth, answers[1:])


def _plain(row):
    """Question and answers of a row: (text that ends where the answer begins, answers).

    The first of the answers is what to predict, the rest are accepted texts.
    """
    accepted = row.get("answers") or [_column(row, "answer")]
    if isinstance(accepted, dict):  # SQuAD
        accepted = accepted["text"]
    if isinstance(accepted, str):
        accepted = [accepted]
    prefix = (row.get("answer_prefix") or "Answer:").strip()
    question = f"{_column(row, 'question').strip()}\n{prefix}"
    return question, [f" {accepted[0]}", *map(str, accepted)]


def _every(row):
    """As `_plain`, but all answers are wanted at once."""
    question, (_, *accepted) = _plain(
        {**row, "answers": row.get("answers") or row.get("answer")}
    )
    return question, [f" {', '.join(accepted)}", *accepted]


def _choice(row):
    letters = "ABCD"
    listed = "\n".join(f"({x}) {_column(row, f'choice_{x}')}" for x in letters)
    question = f"{_column(row, 'question').strip()}\n{listed}\nThe correct answer is"
    answer = _column(row, "answer")
    return question, [f" ({answer})", f"({answer})"]


SETS = {
    chosen.name: chosen
    for chosen in (
        Published("ruler", "simonjegou/ruler", "test", "every", _every),
        Published(
            "needles",
            "simonjegou/ruler",
            "test",
            "every",
            _every,
            lambda row: str(row.get("task", "")).startswith("niah"),
        ),
        Published("longbench", "Xnhyacinth/LongBench", "test", "f1", _plain),
        Published("longbench-v2", "zai-org/LongBench-v2", "train", "choice", _choice),
    )
}
"""The sets by name."""
