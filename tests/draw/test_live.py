"""The panel for notebooks drives the engine, without a browser or a kernel."""

import re

import pytest

from kvteach import corpora, engine, models
from kvteach.draw import live


@pytest.fixture(scope="module")
def loaded():
    return models.load()


def test_every_change_compresses_again(loaded):
    text = corpora.documents("english")[120].text[:1200]
    panel = live.panel(loaded.model, loaded.tokenizer, text, names=("streaming", "snapkv"))
    which, share, _, told = panel.children
    seen = [told.value]
    share.value = 0.5
    seen.append(told.value)
    which.value = "snapkv"
    seen.append(told.value)
    held = [float(re.search(r"holds ([\d.]+)%", value)[1]) for value in seen]
    assert held[0] < held[1] < 60
    tokens = loaded.tokenizer(text, return_tensors="pt").input_ids
    session = engine.compress(loaded.model, tokens, "snapkv", 0.5)
    said = session.generate(loaded.tokenizer(" In conclusion,", return_tensors="pt").input_ids,
                            max_new_tokens=20, do_sample=False)[0]
    first = loaded.tokenizer.decode(said)[:20]
    assert first.split()[0] in seen[-1] and "<b>" in seen[-1]


def test_an_unknown_method_is_refused_before_anything_is_read():
    with pytest.raises(ValueError, match="nosuch"):
        live.panel(None, None, "text", names=("nosuch",))
