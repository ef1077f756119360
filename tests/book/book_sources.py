"""Where the sources of the book are."""

from pathlib import Path

import book_chapters

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
PAGES = [page for page in book_chapters.pages(BOOK) if page.is_file()]
NOTEBOOKS = [page for page in PAGES if book_chapters.is_notebook(page)]


def title(page):
    """The name of a page in the report of the tests."""
    return page.stem
