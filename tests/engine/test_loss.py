"""Losses of the last tokens: handed to a budget, equal to the model's own."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest
import torch
import torch.nn.functional as F
from engine_models import CONFIGS, prompt, tiny

from kvteach import engine, methods
from kvteach.budgets.uniform import Uniform
from kvteach.scores.snapkv import SnapKV


@dataclass(frozen=True, eq=False)
class Reader:
    """A budget that writes down the losses it was given."""

    reads_loss: int = 8
    seen: list = field(default_factory=list)
    scope: ClassVar[str] = "model"

    def __call__(self, scores, entries, layers, depth, loss_t):
        self.seen.append(loss_t)
        return Uniform()(scores, entries, layers, depth)


def method(reader):
    return methods.Method("reader", SnapKV(window=4), reader, "padded")


def model_nats(model, tokens):
    """What the model says of each token but the first, by its own forward pass."""
    with torch.no_grad():
        logits = model(tokens[None], use_cache=False).logits[0, :-1].float()
    return F.cross_entropy(logits, tokens[1:], reduction="none")


# Logits of float32 in another order of summation: 1e-4 of a nat at most.
CLOSE = {"atol": 1e-4, "rtol": 1e-4}


@pytest.mark.parametrize("name", list(CONFIGS))
@pytest.mark.parametrize("chunk", [None, 7])
def test_losses_are_those_of_the_model(name, chunk):
    model, tokens, reader = tiny(name), prompt(40), Reader()
    engine.compress(model, tokens, method(reader), 20, chunk=chunk)
    (found,) = reader.seen
    assert torch.allclose(found, model_nats(model, tokens)[-8:], **CLOSE)


def test_each_sequence_has_its_own(llama):
    tokens = prompt(40, batch=2)
    mask = torch.ones_like(tokens)
    mask[1, :10] = 0
    reader = Reader()
    engine.compress(llama, tokens, method(reader), 20, attention_mask=mask)
    for found, alone in zip(reader.seen, (tokens[0], tokens[1, 10:])):
        assert torch.allclose(found, model_nats(llama, alone)[-8:], **CLOSE)


def test_only_rows_that_may_rank_are_read(llama):
    tokens, question, reader = prompt(40), prompt(9, seed=5), Reader()
    engine.compress(
        llama, tokens, method(reader), 20, question=question, condition="document"
    )
    assert torch.allclose(reader.seen[0], model_nats(llama, tokens)[-8:], **CLOSE)


def test_a_short_prompt_gives_what_it_has(llama):
    tokens, reader = prompt(6), Reader()
    engine.compress(llama, tokens, method(reader), 5)
    assert torch.allclose(reader.seen[0], model_nats(llama, tokens), **CLOSE)


@pytest.mark.parametrize("condition", ["visible", "document"])
def test_a_reading_gives_the_same(llama, condition):
    tokens, question = prompt(40), prompt(9, seed=5)
    alone, shared = Reader(), Reader()
    asked = {"question": question, "condition": condition}
    engine.compress(llama, tokens, method(alone), 20, **asked)
    reading = engine.Reading(llama, tokens, **asked)
    reading.compress(method(shared), 20)
    assert torch.allclose(shared.seen[0], alone.seen[0], **CLOSE)
