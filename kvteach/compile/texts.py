"""Texts to fit on: prose and code, none of the years that evaluation hides facts in."""

import torch

from kvteach import corpora

EVALUATED = range(1900, 1950)
"""Years whose speeches are the evaluation's haystacks; nothing is fitted to them."""


def choose(tokenizer, count, length, generator, code=0.3):
    """``count`` documents of the first ``length`` tokens, shuffled, and their sources.

    A share ``code`` comes from the Python standard library, the rest are speeches.
    Returns (list of [length] ids, sorted list of sources). Raises ValueError when there
    are not so many texts of that length, CorpusError when a corpus is missing.
    """
    speeches = [
        document
        for document in corpora.documents("english")
        if int(document.name[:4]) not in EVALUATED
    ]
    from_code = round(count * code)
    chosen = _draw(speeches, count - from_code, tokenizer, length, generator)
    chosen += _draw(corpora.documents("code"), from_code, tokenizer, length, generator)
    order = torch.randperm(count, generator=generator).tolist()
    sources = sorted({document.source for document, _ in chosen})
    return [chosen[index][1] for index in order], sources


def _draw(documents, count, tokenizer, length, generator):
    """``count`` random documents that are long enough, with their tokens."""
    drawn = []
    for index in torch.randperm(len(documents), generator=generator).tolist():
        if len(drawn) == count:
            break
        if documents[index].holds(tokenizer, length):
            tokens = documents[index].tokens(tokenizer, length)
            drawn.append((documents[index], tokens))
    if len(drawn) < count:
        raise ValueError(
            f"count: {count} texts of {length} tokens; there are {len(drawn)}"
        )
    return drawn
