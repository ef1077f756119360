"""Reading once and compressing many times gives what compressing alone gives."""

import pytest
import torch
from engine_models import kept_sets, prompt

from kvteach import engine, methods

SNAPKV = methods.get("snapkv", window=8, kernel=3)
METHODS = [SNAPKV, methods.get("knorm"), methods.get("h2o"), methods.get("compactor"),
           methods.Method("contour", SNAPKV.score, methods.ContourKV(floor=4), "ragged")]


def same(one, other):
    assert str(kept_sets(one)) == str(kept_sets(other))
    assert one.ledger.compressed == other.ledger.compressed
    torch.testing.assert_close(
        one.logits(prompt(5, seed=3)), other.logits(prompt(5, seed=3)), atol=2e-4, rtol=2e-4
    )


@pytest.mark.parametrize("store", [None, "masked", "ragged"])
def test_one_reading_serves_all(any_model, store):
    reading = engine.Reading(any_model, prompt(60))
    for budget in (0.5, 25):
        for method in METHODS:
            same(reading.compress(method, budget, store),
                 engine.compress(any_model, prompt(60), method, budget, store=store))


@pytest.mark.parametrize("condition", ["visible", "document", "after"])
def test_conditions(llama, condition):
    asked = {"question": prompt(7, seed=1), "condition": condition}
    reading = engine.Reading(llama, prompt(60), **asked)
    for method in METHODS:
        same(reading.compress(method, 25), engine.compress(llama, prompt(60), method, 25, **asked))


def test_ranking_by_document_rows_from_a_visible_reading(llama):
    asked = {"question": prompt(7, seed=1)}
    reading = engine.Reading(llama, prompt(60), **asked)
    restricted = engine.compress(llama, prompt(60), SNAPKV, 25, condition="document", **asked)
    same(reading.compress(SNAPKV, 25, ranking=60), restricted)
    seen = engine.compress(llama, prompt(60), SNAPKV, 25, **asked)
    same(reading.compress(SNAPKV, 25, ranking=None), seen)


def test_scores_are_made_once(llama):
    class Counting:
        window, hidden, calls = 0, False, 0

        def __call__(self, layer):
            Counting.calls += 1
            return torch.rand(layer.keys_ksd.shape[:2], generator=torch.Generator().manual_seed(1))

    method = methods.Method("counting", Counting(), methods.Uniform(), "padded")
    reading = engine.Reading(llama, prompt(60))
    for budget in (10, 20, 30):
        reading.compress(method, budget)
    assert Counting.calls == 4  # layers


def test_the_real_models_kvzip_is_replayed_once(bundled, speech):
    reading = engine.Reading(bundled.model, speech[:200])
    for budget in (80, 40):
        alone = engine.compress(bundled.model, speech[:200], "kvzip", budget)
        assert str(kept_sets(reading.compress("kvzip", budget))) == str(kept_sets(alone))


def test_a_batch_is_refused(llama):
    with pytest.raises(ValueError, match="2 sequences"):
        engine.Reading(llama, prompt(30, batch=2))


def test_a_fork_of_several_answers_a_batch_of_questions(llama):
    session = engine.compress(llama, prompt(60), SNAPKV, 25, store="ragged")
    questions = prompt(6, batch=3)
    together = session.fork(3).logits(questions)
    for question, told in zip(questions, together):
        alone = session.fork().logits(question)[0]
        torch.testing.assert_close(told, alone, atol=2e-4, rtol=2e-4)
