"""Real text of an exact number of tokens, with sentences hidden at chosen depths."""

import re

import torch

from kvteach import corpora
from kvteach.compile.texts import EVALUATED
from kvteach.evaluate.tasks.example import encode, opening

_BETWEEN = {
    "english": r"(?<=[.!?])(?=\s)",  # after a sentence
    "french": r"(?<=[.!?])(?=\s)",
    "code": r"(?<=\n)(?=\S)",  # before a line that is not indented
}
LEAST = 64
"""Tokens of real text that an example must have, at least."""


class Source:
    """Windows of a corpus, from documents in an order that ``generator`` draws.

    English documents are the speeches that nothing in this library was fitted to.
    Every document is used once before any is used again; later windows of one may
    overlap, and share its name as their cluster.
    """

    def __init__(self, corpus, tokenizer, generator):
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.generator = generator
        self.documents = corpora.documents(corpus)
        if corpus == "english":
            self.documents = [d for d in self.documents if int(d.name[:4]) in EVALUATED]
        self._queue = []
        self._pieces = {}

    def window(self, length):
        """(name, pieces): sentences or blocks of code, at least ``length`` ids in all.

        The window starts between two pieces, anywhere that leaves enough. Raises
        ValueError when no document holds ``length`` tokens.
        """
        tried = 0
        while tried <= len(self.documents):
            if not self._queue:
                count = len(self.documents)
                self._queue = torch.randperm(count, generator=self.generator).tolist()
            index = self._queue.pop(0)
            pieces = self._cut(index)
            left = sum(map(len, pieces))
            starts = []
            for i, piece in enumerate(pieces):
                if left < length:
                    break
                starts.append(i)
                left -= len(piece)
            if starts:
                start = int(torch.randint(len(starts), (), generator=self.generator))
                return self.documents[index].name, pieces[start:]
            tried += 1
        raise ValueError(
            f"length: no document of {self.corpus!r} holds {length} tokens"
        )

    def _cut(self, index):
        """Token ids of a document's pieces, a list of tensors; cut once a document."""
        if index not in self._pieces:
            texts = re.split(_BETWEEN[self.corpus], self.documents[index].text)
            ids = self.tokenizer(
                texts, add_special_tokens=False, verbose=False
            ).input_ids
            self._pieces[index] = [torch.tensor(i, dtype=torch.int64) for i in ids]
        return self._pieces[index]


def hide(source, sentences, length, depths):
    """Hide ``sentences`` in real text: (document [length], depths [n], name).

    sentences: texts with the space or line break that sets them off. depths: one in
    [0, 1] each, of which the nearest place between two pieces is taken; sentences keep
    their order where they meet. Returned depths are where each one begins, as a share
    of ``length``. Raises ValueError for a length that leaves less than `LEAST` tokens
    of real text.
    """
    facts = [encode(source.tokenizer, sentence) for sentence in sentences]
    start = opening(source.tokenizer)
    room = length - len(start) - sum(map(len, facts))
    if room < LEAST:
        least = length - room + LEAST
        raise ValueError(
            f"length: {length}; {len(facts)} sentences need at least {least}"
        )
    name, pieces = source.window(room)
    text = torch.cat(pieces)[:room]
    ends = torch.tensor([len(piece) for piece in pieces]).cumsum(0)
    places = torch.cat([torch.tensor([0]), ends[ends <= room]])
    chosen = [int(places[(places - depth * room).abs().argmin()]) for depth in depths]
    parts, begins, cut = [start], [0] * len(facts), 0
    for i in sorted(range(len(facts)), key=lambda i: chosen[i]):
        parts.append(text[cut : chosen[i]])
        begins[i] = sum(map(len, parts)) / length
        parts.append(facts[i])
        cut = chosen[i]
    return torch.cat([*parts, text[cut:]]), begins, name


def depths_of(count, depths, generator):
    """``depths`` checked, or one at random in each of ``count`` equal slices."""
    if depths is None:
        jitter = torch.rand(count, generator=generator, dtype=torch.float64)
        return ((torch.arange(count) + jitter) / count).tolist()
    depths = list(depths)
    if len(depths) != count or not all(0 <= depth <= 1 for depth in depths):
        raise ValueError(f"depths: {depths}; need {count} numbers in 0 .. 1")
    return depths
