"""One context with its questions, as token ids, and how text becomes ids."""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch


class Question(NamedTuple):
    """What follows the document: ``tokens`` [Tq] to read, ``answer`` [Ta] to predict.

    depth: where the answer lies in the document, 0 the start and 1 the end, NaN when
    it lies nowhere in particular. accepted: every answer text that counts, for
    metrics on generated text; empty where only ``answer`` counts.
    """

    tokens: torch.Tensor
    answer: torch.Tensor
    depth: float = float("nan")
    accepted: tuple = ()


@dataclass(frozen=True)
class Example:
    """A document that is read once, and questions that are asked one by one.

    document: ids [S], int64. cluster: the text that it was cut from. Examples of one
    cluster share words, and all questions of an example share its document, so
    intervals resample clusters. meta: what else the task wants to remember.
    """

    document: torch.Tensor
    questions: tuple
    cluster: str
    task: str
    meta: dict = field(default_factory=dict)

    @property
    def length(self):
        """S, tokens of the document."""
        return len(self.document)


def encode(tokenizer, text):
    """Ids [n] of a text, int64, without special tokens."""
    ids = tokenizer(text, add_special_tokens=False, verbose=False).input_ids
    return torch.tensor(ids, dtype=torch.int64)


def opening(tokenizer):
    """The special tokens that a text starts with, [0] or [1] ids."""
    if tokenizer.bos_token_id in tokenizer("").input_ids:
        return torch.tensor([tokenizer.bos_token_id])
    return torch.tensor([], dtype=torch.int64)


def ask(tokenizer, question, answer, depth=float("nan"), accepted=()):
    """The `Question` whose text is ``question``, then ``answer``.

    Both are encoded together and cut where they begin to differ from the question
    alone: a tokenizer may merge the last sign of one with the first of the other.
    """
    whole, alone = encode(tokenizer, question + answer), encode(tokenizer, question)
    same = 0
    while same < min(len(alone), len(whole)) and alone[same] == whole[same]:
        same += 1
    if not 0 < same < len(whole):
        raise ValueError(
            f"question, answer: {question!r}, {answer!r}; need text in both"
        )
    return Question(whole[:same], whole[same:], depth, tuple(accepted))


def pick(options, count, generator):
    """``count`` different options in random order, drawn with a torch generator."""
    if not 1 <= count <= len(options):
        raise ValueError(f"count: {count} is outside 1 .. {len(options)}")
    order = torch.randperm(len(options), generator=generator)[:count].tolist()
    return [options[i] for i in order]


def numbers(count, digits, generator):
    """``count`` different numbers of ``digits`` digits, as text."""
    low, found = 10 ** (digits - 1), []
    if not 0 <= count <= 9 * low:
        raise ValueError(f"count: {count} is outside 0 .. {9 * low}, numbers there are")
    while len(found) < count:
        number = int(torch.randint(low, 10 * low, (), generator=generator))
        if number not in found:
            found.append(number)
    return [str(number) for number in found]
