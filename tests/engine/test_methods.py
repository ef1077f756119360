"""Every named method on the real model: sets, bytes, decoding, generation."""

from pathlib import Path

import pytest
import torch
from engine_models import kept_sets, masked_dense_logits, rests_of

from kvteach import engine, methods, models

ENTRIES = 160  # above every method's floor of what must stay, on 400 tokens

LEAST = {"compilerkv": 0.25}
"""Elastic selection leaves out what is below its threshold: the share that it must use."""


@pytest.fixture(scope="module")
def text(speech):
    return speech[:420]


@pytest.fixture(scope="module", params=[name for name in methods.METHODS if name != "full"])
def session(request, bundled, text):
    return engine.compress(bundled.model, text[:400], request.param, ENTRIES)


def test_bytes_stay_within_three_percent_of_the_budget(session):
    """Pages come whole, the last one too, of which the held-out token leaves a part free."""
    most = 1.03 if session.method != "page-entrokv" else 1.03 + 16 / ENTRIES
    assert LEAST.get(session.method, 0.9) < session.ledger.overhead <= most
    assert session.ledger.compressed == session.held_bytes() or session.cache.layers[0].length


def test_it_evicts_and_never_more_than_asked(session):
    counts = torch.stack([kept[0] for kept in session.ledger.kept]) + 1  # the held-out token
    rule = methods.get(session.method).compensate
    counts += 0 if rule is None else rule.charge(64)  # bytes that keys could have had
    assert counts.shape == (30, 3)
    assert counts.sum() <= 90 * ENTRIES
    assert counts.sum() > LEAST.get(session.method, 85 / 90) * 90 * ENTRIES
    assert counts.max() <= 400 + (0 if rule is None else rule.charge(64))


def test_decoding_is_masked_dense_attention(session, bundled, text):
    """Logits reach 35; float32 sums in two orders differ by some 1e-4 through 30 layers."""
    expected = masked_dense_logits(
        bundled.model, text, 399, kept_sets(session), rests_of(session)
    )[399:]
    got = session.fork().logits(text[400:])[0]
    torch.testing.assert_close(got, expected, atol=1e-3, rtol=0)


def test_text_follows(session, bundled, text):
    told = session.fork().generate(max_new_tokens=8, do_sample=False)
    assert told.shape == (1, 8)
    fork = session.fork()
    assert told[0, 0] == fork.logits()[0, -1].argmax()


def test_the_budget_of_everything_changes_nothing(bundled, text):
    expected = models.read(bundled.model, text)[399:]
    for name in methods.METHODS:
        session = engine.compress(
            bundled.model, text[:400], name, None if name == "full" else 1.0
        )
        got = session.logits(text[400:])[0]
        torch.testing.assert_close(got, expected, atol=1e-3, rtol=0, msg=name)


def test_unenforced_methods_hold_what_they_hold(bundled, text):
    """A mask frees nothing; padding pays for the widest head."""
    held = {
        store: engine.compress(bundled.model, text[:400], "adakv", ENTRIES, store=store)
        for store in ("masked", "padded", "ragged")
    }
    ledgers = {store: session.ledger for store, session in held.items()}
    assert ledgers["masked"].compressed > 0.99 * ledgers["masked"].full
    widest = sum(int(kept.max()) for kept in ledgers["padded"].kept) * 3 / (90 * ENTRIES)
    assert widest > 1.05
    assert ledgers["padded"].overhead == pytest.approx(widest, rel=0.02)
    assert ledgers["ragged"].overhead <= 1.03
    logits = [session.logits() for session in held.values()]
    torch.testing.assert_close(logits[0], logits[2], atol=1e-3, rtol=0)
    torch.testing.assert_close(logits[1], logits[2], atol=1e-3, rtol=0)


def test_methods_of_another_model_say_so():
    from engine_models import prompt, tiny

    for name in methods.FITTED:
        with pytest.raises(ValueError, match="model|importance|hidden|layers"):
            engine.compress(tiny("llama"), prompt(200), name, 150)


def test_a_method_of_ones_own(bundled, text):
    """A file and a line: any callable with a window, a budget, a store."""

    class Middle:
        window, hidden = 0, False

        def __call__(self, layer):
            where = torch.arange(layer.length, dtype=torch.float32)
            return -(where - layer.length / 2).abs().expand(len(layer.keys_ksd), -1)

    own = methods.Method("middle", Middle(), methods.Uniform(), "padded")
    session = engine.compress(bundled.model, text[:400], own, 0.1)
    assert session.cache.layers[3].prefix.positions(0, 1).tolist() == list(range(181, 220))


def test_parameters_in_a_name():
    method = methods.get("snapkv:window=16,kernel=7,pooling=max")
    assert (method.score.window, method.score.kernel, method.score.pooling) == (16, 7, "max")
    assert method.name == "snapkv:window=16,kernel=7,pooling=max"
    assert methods.get("chunkkv:length=10").score.length == 10
    assert methods.get("chunkkv:length=10").budget.length == 10
    assert methods.get("contourkv:enforcement=capped,store=padded").store == "padded"
    for wrong in ("snapkv:window", "snapkv:windows=3", "snap:window=3"):
        with pytest.raises(ValueError):
            methods.get(wrong)


def test_fitted_files_can_be_named(bundled, text):
    folder = Path(methods.__file__).parent / "scores" / "weights"
    for name, parameter, file in (
        ("headkv", "importance", "heads-smollm2-135m-instruct.json"),
        ("fastkvzip", "gates", "fastkvzip-smollm2-135m-instruct.safetensors"),
        ("kvzap", "network", "kvzap-linear-smollm2-135m-instruct.safetensors"),
    ):
        method = methods.get(f"{name}:{parameter}={folder / file}")
        engine.compress(bundled.model, text[:200], method, 150)
    with pytest.raises(ValueError):
        methods.get("kvzap:network=/nowhere")
