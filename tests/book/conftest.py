"""The built pages, for the tests that look at them."""

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "book" / "_ext")]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


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


@pytest.fixture(scope="session")
def chromium_path():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        absent("no Chromium is installed")
    return path


@pytest.fixture(scope="session")
def chromium(chromium_path):
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail("a Chromium is here, but not its driver: "
                    "pip install -r requirements-browser.txt (make test does it)")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield running
        running.close()
