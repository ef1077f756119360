"""The build on a tiny book: failures stay failures, library edits show."""

import shutil
import subprocess
import sys

import build_book
import make_venv
import pytest
from book_sources import BOOK, ROOT

HEADER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""


def chapter(title, code):
    return f"{HEADER}# {title}\n\n## Section\n\n```{{code-cell}} ipython3\n{code}\n```\n"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A book of two chapters over a library of one function, in a path with a space."""
    root = tmp_path_factory.mktemp("a book") / "with spaces"
    shutil.copytree(BOOK / "_ext", root / "book" / "_ext")
    shutil.copytree(BOOK / "assets", root / "book" / "assets")
    for name in ["_config.yml", *make_venv.INPUTS]:
        shutil.copy(ROOT / name, root)
    (root / "book" / "references.bib").write_text("")
    (root / "book" / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nchapters:\n- file: good\n- file: bad\n"
    )
    (root / "book" / "index.md").write_text("# Tiny\n")
    (root / "book" / "good.md").write_text(
        chapter("Good", "import kvteach\nprint('answer', kvteach.answer())")
    )
    (root / "book" / "bad.md").write_text(chapter("Bad", "1 / 0"))
    (root / "kvteach").mkdir()
    library(root, 41)
    return root


def library(root, value):
    (root / "kvteach" / "__init__.py").write_text(f"def answer():\n    return {value}\n")


def build(root):
    """Exit code and output of one run of the build."""
    done = subprocess.run([sys.executable, ROOT / "tools" / "build_book.py", "--root", root],
                          capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def page(root, name):
    return (root / "_build" / "html" / f"{name}.html").read_text()


def test_life_of_a_book(tiny):
    """One story, for each step needs the one before; a build takes seconds."""
    code, output = build(tiny)
    assert code != 0 and "ZeroDivisionError" in output and "bad.md" in output
    assert "Running 2 chapter(s)" in output

    code, output = build(tiny)
    assert code != 0 and "ZeroDivisionError" in output, "the second run must fail as well"
    assert "Running 1 chapter(s)" in output, "the good chapter must not run again"

    (tiny / "book" / "bad.md").write_text(chapter("Mended", "print(2 + 2)"))
    code, output = build(tiny)
    assert code == 0, output
    assert "answer 41" in page(tiny, "good") and "Mended" in page(tiny, "bad")

    code, output = build(tiny)
    assert code == 0 and "up to date" in output

    library(tiny, 42)
    code, output = build(tiny)
    assert code == 0 and "Running 2 chapter(s)" in output
    assert "answer 42" in page(tiny, "good") and "answer 41" not in page(tiny, "good")

    (tiny / "book" / "index.md").write_text("# Tiny\n\nSee {doc}`nowhere`.\n")
    for _ in range(2):
        code, output = build(tiny)
        assert code != 0 and "nowhere" in output, "a warning must fail, each time"
        assert "chapter(s)" not in output, "prose alone runs no chapter"


def test_another_jupyter_book_is_refused(monkeypatch):
    monkeypatch.setattr(build_book, "version", lambda name: "2.1.7")
    with pytest.raises(build_book.BuildError, match=r"jupyter-book 2\.1\.7 .* needs 1\.x"):
        build_book.check_tools()
