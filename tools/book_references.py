"""What cross-references, links and citations of the book say in a notebook.

Sphinx numbers equations, statements and figures by chapter while it renders.
A notebook has no Sphinx, so they are counted here, in the same order.
"""

import re
from typing import NamedTuple

import book_chapters
import yaml
from book_markdown import STATEMENTS

ONE_COUNTER = {"theorem", "definition", "lemma", "proposition", "corollary"}
"""Statements that count together, as prf_realtyp_to_countertyp in _config.yml says."""

EQUATION = re.compile(r"\$\$ *\((?P<label>[\w:.-]+)\) *$", re.MULTILINE)
STATEMENT = re.compile(
    r"^[`:]{3,}\{prf:(?P<kind>\w+)\}(?P<title>.*)\n(?::label: (?P<label>\S+))?", re.MULTILINE
)
FIGURE = re.compile(r"^  figure:\n    name: (?P<label>\S+)$", re.MULTILINE)
TITLE = re.compile(r"^# +(.+)$", re.MULTILINE)


CITATION = re.compile(r"\{cite(?::(?P<kind>\w+))?\}`(?P<keys>[^`]+)`")
NUMBER = re.compile(r"\{(?:eq|numref|prf:ref)\}`(?P<label>[\w:.-]+)`")
PAGE = re.compile(r"\{doc\}`(?:(?P<text>[^`<]+?)\s*<)?(?P<page>[\w./-]+)>?`")
LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]]+)\]\((?:(?P<page>[\w-]+)\.md)?(?:#[\w-]*)?\)")


class References(NamedTuple):
    """Everything that a text may refer to."""

    numbers: dict
    """{label: like "Eq. (2.1)" or "Theorem 2.1"}"""
    titles: dict
    """{page, without ".md": its title}"""
    notebooks: set
    """Pages that become notebooks, so that one can link to another."""
    citations: dict
    """{key: (like "Vaswani et al.", like "2017")}"""

    def resolve(self, text):
        """The text with its references in words, and its links to notebooks only."""
        text = CITATION.sub(self._cited, text)
        text = NUMBER.sub(lambda found: self.numbers[found["label"]], text)
        text = PAGE.sub(
            lambda found: self._link(found["text"] or self.titles[found["page"]], found["page"]), text
        )
        text = LINK.sub(lambda found: self._link(found["text"], found["page"]), text)
        text = EQUATION.sub(self._tagged, text)
        return re.sub(r"^:label: (\S+)$", self._number_option, text, flags=re.MULTILINE)

    def _cited(self, found):
        cited = [self.citations[key.strip()] for key in found["keys"].split(",")]
        if found["kind"] == "t":
            return "; ".join(f"{who} ({year})" for who, year in cited)
        return "(" + "; ".join(f"{who}, {year}" for who, year in cited) + ")"

    def _link(self, text, page):
        return f"[{text}]({page}.ipynb)" if page in self.notebooks else text

    def _tagged(self, found):
        number = self.numbers[found["label"]].partition("(")[2].rstrip(")")
        return f"\\tag{{{number}}} $$"

    def _number_option(self, found):
        number = self.numbers.get(found[1])
        return f":number: {number}" if number else found[0]


def references(root):
    """The references of the book in this tree."""
    book, numbers, titles = root / "book", {}, {}
    for page, chapter in numbered(book):
        text = (book / f"{page}.md").read_text(encoding="utf8")
        titles[page] = TITLE.search(text)[1]
        if chapter:
            numbers.update(labels(text, chapter))
    notebooks = {page.stem for page in book_chapters.notebooks(book)}
    return References(numbers, titles, notebooks, citations(book))


def citations(book):
    """{key: (authors, year)} of the bibliography."""
    from pybtex.database import parse_file

    shown = {}
    for key, entry in parse_file(str(book / "references.bib")).entries.items():
        names = [" ".join(map(str, person.rich_last_names)) for person in entry.persons["author"]]
        who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        shown[key] = who, entry.fields["year"]
    return shown


def numbered(book):
    """Pairs of page and chapter number; None for a page outside numbered parts."""
    toc = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf8"))
    chapter = 0
    yield toc["root"], None
    for part in toc["parts"]:
        for entry in part["chapters"]:
            chapter += bool(part.get("numbered"))
            yield entry["file"], chapter if part.get("numbered") else None


def labels(text, chapter):
    """{label: like "Eq. (2.1)"} for one chapter."""
    found = {}
    for count, match in enumerate(EQUATION.finditer(text), 1):
        found[match["label"]] = f"Eq. ({chapter}.{count})"
    for count, match in enumerate(FIGURE.finditer(text), 1):
        found[match["label"]] = f"Figure {chapter}.{count}"
    counts = {}
    for match in STATEMENT.finditer(text):
        kind = match["kind"]
        if kind not in STATEMENTS:
            continue
        counter = "theorem" if kind in ONE_COUNTER else kind
        counts[counter] = counts.get(counter, 0) + 1
        if match["label"]:
            found[match["label"]] = f"{kind.capitalize()} {chapter}.{counts[counter]}"
    return found
