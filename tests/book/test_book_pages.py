"""The built pages are complete in themselves."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from book_sources import NOTEBOOKS, title

import kvteach

OUTSIDE = re.compile(r"^(https?:)?//")


class Page(HTMLParser):
    """What a page loads, where it points, and what can be pointed at."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.anchors, self.images = [], [], set(), []
        self.feed(path.read_text(encoding="utf8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "link" and found.get("rel") != "canonical":
            self.loads.append(found.get("href", ""))
        elif tag == "a":
            self.links.append(found.get("href") or "")
        elif tag in ("script", "img", "iframe", "source", "audio", "video"):
            self.loads.append(found.get("src") or "")
        if tag == "img":
            self.images.append(found)


@pytest.fixture(scope="module")
def pages(built):
    return {path: Page(path) for path in sorted(built.rglob("*.html")) if "_static" not in path.parts}


def test_no_page_loads_from_another_host(pages):
    bad = [(path.name, url) for path, page in pages.items() for url in page.loads if OUTSIDE.match(url)]
    assert not bad


def test_no_page_names_a_content_network(pages):
    for path in pages:
        assert not re.search(r"jsdelivr|unpkg|cdnjs|googleapis", path.read_text(encoding="utf8")), path


def test_no_page_names_a_folder_of_the_machine_that_built_it(built):
    """Prose may speak of folders; a path of this checkout is a value that leaked."""
    here = html.escape(str(Path(kvteach.__file__).parents[1]))
    assert not [p.name for p in built.rglob("*.html") if here in p.read_text(encoding="utf8")]


def test_links_inside_the_book_lead_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or url.netloc or not link:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            anchor = unquote(url.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append((path.name, link))
    assert not broken


def test_every_picture_has_an_alternative_text(pages):
    """myst-nb falls back to the name of the file, which says nothing."""
    for path, page in pages.items():
        for image in page.images:
            text = (image.get("alt") or "").strip()
            decorative = "logo" in (image.get("class") or "") or image.get("alt") == ""
            assert decorative or (text and not text.endswith((".png", ".svg"))), (path.name, image)


def test_mathjax_is_here_with_its_licence(built):
    folder = built / "_static" / "mathjax"
    assert (folder / "tex-mml-chtml.js").is_file()
    assert list(folder.glob("output/chtml/fonts/woff-v2/*.woff"))
    assert "Apache License" in (folder / "LICENSE").read_text()


class Lengths(HTMLParser):
    """The longest table, in rows, and the longest output, in lines, that is not folded."""

    def __init__(self, path):
        super().__init__()
        self.folds, self.rows, self.output, self.longest = 0, 0, False, {"rows": 0, "lines": 0}
        self.feed(path.read_text(encoding="utf8"))

    def handle_starttag(self, tag, attributes):
        classes = dict(attributes).get("class") or ""
        self.folds += tag == "details"
        self.output = "output " in classes if tag == "div" else self.output
        self.rows = 0 if tag == "table" else self.rows + (tag == "tr")
        if not self.folds:
            self.longest["rows"] = max(self.longest["rows"], self.rows)

    def handle_endtag(self, tag):
        self.folds -= tag == "details"
        self.rows = 0 if tag == "table" else self.rows

    def handle_data(self, text):
        if self.output and not self.folds:
            self.longest["lines"] = max(self.longest["lines"], text.count("\n"))


@pytest.mark.parametrize("page", NOTEBOOKS, ids=title)
def test_long_outputs_are_folded(built, page):
    longest = Lengths(built / f"{page.stem}.html").longest
    assert longest["rows"] <= 100 and longest["lines"] <= 60, longest
