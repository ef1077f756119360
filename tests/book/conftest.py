"""The built pages, for the tests that look at them."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "book" / "_ext")]


def absent(reason):
    """Skip, or fail where the environment says that nothing may be skipped."""
    if os.environ.get("KVTEACH_SKIP_NOTHING"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def built():
    """Folder of the built pages, which must belong to the present sources."""
    import build_book

    html, record = ROOT / "_build" / "html", ROOT / "_build" / "book.key"
    if not (record.is_file() and (html / "index.html").is_file()):
        absent("the book is not built; run `make book`")
    if record.read_text() != build_book.content_key(ROOT, build_book.LIBRARY + build_book.BOOK):
        absent("the built book is out of date; run `make book`")
    return html
