"""Spelling of the prose: every word in a dictionary or in words.txt, British throughout.

The dictionary is American; words.txt beside this file holds what it lacks: British
spellings, names, and the terms of the subject. A word that is right goes there.
"""

import re
from pathlib import Path

import jupytext
import pytest
from book_sources import PAGES, ROOT, title
from conftest import absent

KNOWN = Path(__file__).with_name("words.txt")
TEXTS = [*PAGES, ROOT / "README.md"]

NOT_PROSE = re.compile(
    r"^(`{3,}|:{3,})\{?(code-cell|eval-rst|raw|code|bibliography|list-table).*?^\1$"  # blocks
    r"|^```(?!\{).*?^```$"
    r"|^\$\$.*?^\$\$[^\n]*$"
    r"|^ {4,}\S[^\n]*$"              # indented code of the README
    r"|^:\w+:[^\n]*$|^`{3,}[^\n]*$"  # options and fences of directives
    r"|`[^`]*`|\$[^$]*\$"            # code, roles' targets, formulas
    r"|\{[a-z:]+\}|\]\([^)]*\)|https?://\S+|<[^>]*>|&\w+;",
    re.MULTILINE | re.DOTALL,
)
WORD = re.compile(r"[A-Za-zÀ-ÿ]+(?:['’][a-z]+)?")

AMERICAN = re.compile(
    r"\b(?!(?:re|over|down)?siz|priz|seiz|capsiz)\w+(?:iz(?:e[sdr]?|ing|ations?))\b"
    r"|\b\w*(?:color|behavior|neighbor|favor|honor|labor|center|fiber|gray|analyz|catalog)"
    r"(?:s|ed|ing|able|s?hood)?\b|\b\w*(?:labeled|modeling|modeled|canceling|canceled)\b",
    re.IGNORECASE,
)


def prose(page):
    """The words that a reader of this page reads, alternative texts and captions too."""
    text = page.read_text(encoding="utf8")
    if text.startswith("---\n"):
        text = text.split("\n---\n", 1)[1]
    said = [NOT_PROSE.sub(" ", text)]
    for cell in jupytext.read(page).cells if page in PAGES else []:
        options = cell.metadata.get("mystnb", {})
        for part in (options.get("figure", {}).get("caption"),
                     options.get("image", {}).get("alt")):
            said.append(NOT_PROSE.sub(" ", part or ""))
    return "\n".join(said)


@pytest.fixture(scope="module")
def dictionary():
    try:
        from spylls.hunspell import Dictionary
    except ImportError:
        absent("spylls is missing: pip install -r requirements-browser.txt (make test does it)")
    known = set(KNOWN.read_text(encoding="utf8").split())
    american = Dictionary.from_files("en_US")
    return lambda word: (word in known or word.lower() in known or len(word) < 3
                         or word.isupper() or american.lookup(word))


@pytest.mark.parametrize("page", TEXTS, ids=title)
def test_words_are_spelt_right(page, dictionary):
    words = {w.replace("’", "'") for w in WORD.findall(prose(page))}
    wrong = {w for w in words if not dictionary(w) and not dictionary(w.removesuffix("'s"))}
    assert not wrong, " ".join(sorted(wrong))


@pytest.mark.parametrize("page", TEXTS, ids=title)
def test_spelling_is_british(page):
    assert not {m[0] for m in AMERICAN.finditer(prose(page))}


def test_words_are_sorted_and_listed_once():
    words = KNOWN.read_text(encoding="utf8").split()
    assert words == sorted(set(words), key=lambda w: (w.lower(), w))
