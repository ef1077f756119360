"""The build on a tiny book: failures stay failures, library edits show."""

import shutil
import subprocess
import sys

import book_chapters
import book_lab
import build_book
import make_venv
import pytest
import yaml
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


def test_launch_buttons_open_notebooks_of_the_repository_and_only_if_named(tiny):
    """After the story above: the tiny book has no address, and then it has one."""
    (tiny / "book" / "index.md").write_text("# Tiny\n")
    code, output = build(tiny)
    assert code == 0, output
    assert "colab" not in page(tiny, "good") and "binder" not in page(tiny, "good")
    settings = yaml.safe_load((tiny / "_config.yml").read_text())
    settings["repository"]["url"] = "https://github.com/someone/somewhere"
    settings["launch_buttons"] = {"colab_url": "https://colab.research.google.com"}
    (tiny / "_config.yml").write_text(yaml.safe_dump(settings))
    shutil.copy(tiny / "book" / "good.md", tiny / "book" / "good.ipynb")
    code, output = build(tiny)
    assert code == 0, output
    place = "github/someone/somewhere/blob/main/book/good.ipynb"
    assert f'href="https://colab.research.google.com/{place}"' in page(tiny, "good")


def test_another_jupyter_book_is_refused(monkeypatch):
    monkeypatch.setattr(build_book, "version", lambda name: "2.1.7")
    with pytest.raises(build_book.BuildError, match=r"jupyter-book 2\.1\.7 .* needs 1\.x"):
        build_book.check_tools()


HOLDER = """
import sys, time
sys.path.insert(0, {tools!r})
import build_book
from pathlib import Path
with build_book.alone(Path({lock!r}), "A test"):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_build_waits_and_a_killed_one_leaves_no_lock(tmp_path):
    lock = tmp_path / "_build" / "build.lock"
    lock.parent.mkdir()
    program = HOLDER.format(tools=str(ROOT / "tools"), lock=str(lock))

    def start():
        return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)

    first = start()
    assert first.stdout.readline() == "held\n"
    second = start()
    assert "A test is running" in second.stdout.readline()
    first.kill()
    assert second.stdout.readline() == "held\n"
    second.kill()
    with build_book.alone(lock, "A test"):
        pass
    for process in (first, second):
        process.wait()
        process.stdout.close()


def test_a_result_half_stored_is_dropped(tmp_path):
    """What a kill while storing leaves: the mark, and a cache that cannot be trusted."""
    cache = tmp_path / "cache"
    (cache / "executed").mkdir(parents=True)
    (cache / "global.db").write_bytes(b"half")
    book_chapters.storing(cache).touch()
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    (tmp_path / "book" / "index.md").write_text("# Nothing to run\n")
    assert book_chapters.run_stale(tmp_path / "book", cache, {}) == {}
    assert not book_chapters.storing(cache).exists()
    assert not (cache / "executed").exists()


@pytest.mark.parametrize("user, allowed", [(0, True), (1000, False)])
def test_jupyterlab_runs_for_root_as_well(monkeypatch, tmp_path, user, allowed):
    said = []
    monkeypatch.setattr(book_lab, "SETTINGS", tmp_path / "overrides.json")
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setattr(book_lab.os, "getuid", lambda: user, raising=False)
    monkeypatch.setattr(book_lab.os, "execv", lambda program, command: said.extend(command))
    book_lab.main([])
    assert ("--allow-root" in said) == allowed
