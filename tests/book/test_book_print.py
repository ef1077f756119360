"""Printing to a PDF, on a small page; `make pdf` prints the book in the same way."""

import re
import subprocess
import sys
import zlib

import pytest
from book_sources import ROOT

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><html lang="en"><title>Small</title><main><h1>First</h1>
<details style="page-break-before: always"><summary>folded</summary>
<p style="page-break-before: always">inside</p></details><h2>Second</h2></main></html>"""

PRINT = """import sys
from pathlib import Path
sys.path.insert(0, {tools!r})
import print_book
print_book.print_page(Path({page!r}), Path({out!r}), {browser!r})"""


def test_folded_parts_are_printed_and_headings_are_bookmarks(tmp_path, chromium_path):
    """In a process of its own: one driver of the browser is running here already."""
    page, out = tmp_path / "small page.html", tmp_path / "small.pdf"
    page.write_text(PAGE)
    program = PRINT.format(tools=str(ROOT / "tools"), page=str(page), out=str(out),
                           browser=chromium_path)
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
    pdf = out.read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    whole = pdf + b"".join(map(inflated, streams))
    assert pdf.startswith(b"%PDF")
    # The third page exists only if the folded part is open.
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", whole)) == 3
    assert b"/Outlines" in whole and b"(First)" in whole and b"(Second)" in whole


def inflated(stream):
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""
