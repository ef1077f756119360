"""Execute and render the book (`make book` calls this).

    python tools/build_book.py [--root DIR]

Chapters that changed run first, two at a time; then Jupyter Book renders every
page, with warnings as errors. What the last successful build was made from is
recorded, so that an up-to-date book is recognised at once. A failed build
leaves no record: the next one runs the failing chapters again and fails again.
The results of all chapters are dropped when the library or a recorded run changes,
because the cache of Jupyter Book looks at the cells of a chapter only.

One build at a time works in a tree; a second one waits. The system releases the
locks of a process that is killed, and what it left half done is done anew.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import book_chapters
from filelock import FileLock, Timeout

LIBRARY = ["kvteach", "requirements.txt", "requirements-data.txt", "benchmarks/results"]
BOOK = ["book", "_config.yml", "tools/build_book.py", "tools/book_chapters.py"]
IGNORED = {"__pycache__", ".ipynb_checkpoints", "_build"}
GRADER = "kvteach/grading"
"""Part of the library that chapters list but never call, so their results stand."""

RENDER = """\
from filelock import FileLock
from jupyter_book.cli.main import main
with FileLock("_build/render.lock"):
    main()
"""
"""Jupyter Book under a lock of its own, for it outlives a build that is killed."""


class BuildError(Exception):
    """The book cannot be built; the message says why."""


def files_below(root, names):
    """Every file that the named files and folders hold, in a fixed order."""
    for name in names:
        place = root / name
        found = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in found:
            if path.is_file() and not IGNORED & set(path.relative_to(root).parts):
                yield path


def content_key(root, names, without=None):
    """A hash of names and contents, and of this Python and its torch."""
    digest = hashlib.sha256(f"{sys.version} {version('torch')}".encode())
    for path in files_below(root, names):
        name = path.relative_to(root).as_posix()
        if without and name.startswith(without):
            continue
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def environment(root):
    """The environment that chapters and Sphinx run in.

    Offline and quiet, the kernel of this interpreter only, no profile of the
    user's, and the library of this very tree.
    """
    cores = os.cpu_count() or 1
    inherited = {k: v for k, v in os.environ.items() if k not in ("MPLBACKEND", "PYTHONWARNINGS")}
    return inherited | {
        "HF_HUB_OFFLINE": "1",
        "TQDM_DISABLE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": str(max(1, cores // book_chapters.AT_ONCE)),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "IPYTHONDIR": str(root / "_build" / "ipython"),
        "PYTHONPATH": str(root),
    }


def check_tools():
    """Raise BuildError for a Jupyter Book that cannot read this book."""
    found = version("jupyter-book")
    if not found.startswith("1."):
        raise BuildError(
            f"jupyter-book {found} is installed, but this book needs 1.x: version 2 is "
            "another program that ignores _config.yml. Mend it with: "
            f"{sys.executable} -m pip install 'jupyter-book>=1.0.4.post1,<2' 'sphinx>=7.4,<8'"
        )


@contextmanager
def alone(lock, who):
    """Hold a lock file; where another process has it, say so and wait."""
    holder = FileLock(lock)
    try:
        holder.acquire(timeout=0)
    except Timeout:
        print(f"{who} is running in {lock.parent.parent}; waiting for it ...", flush=True)
        holder.acquire()
    try:
        yield
    finally:
        holder.release()


def forget_results_of_another_library(root, build):
    """Drop all results when the library is not the one that they came from."""
    record, key = build / "library.key", content_key(root, LIBRARY, without=GRADER)
    if record.is_file() and record.read_text() == key:
        return
    shutil.rmtree(build / ".jupyter_cache", ignore_errors=True)
    record.write_text(key)


def plain(text):
    """Terminal output without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def render(root, build):
    """Render every page anew, warnings as errors; raise BuildError on any."""
    with alone(build / "render.lock", "What a killed build was rendering"):
        shutil.rmtree(build / "html", ignore_errors=True)
    command = [sys.executable, "-c", RENDER, "build", "book",
               "-W", "-n", "--keep-going", "--all", "-q"]
    done = subprocess.run(command, cwd=root, env=environment(root), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise BuildError(f"{plain(done.stdout)}\nThe pages above have warnings or errors.")


def build_book(root):
    """Bring _build/html up to date; return the path of its first page."""
    check_tools()
    build = root / "_build"
    page, record = build / "html" / "index.html", build / "book.key"
    key = content_key(root, LIBRARY + BOOK)
    if record.is_file() and record.read_text() == key and page.is_file():
        print("The book is up to date.")
        return page
    record.unlink(missing_ok=True)
    forget_results_of_another_library(root, build)
    failures = book_chapters.run_stale(
        root / "book", build / ".jupyter_cache", environment(root)
    )
    if failures:
        report = "\n\n".join(f"{name}\n{plain(trace)}" for name, trace in failures.items())
        raise BuildError(f"{report}\n\n{len(failures)} chapter(s) failed: {', '.join(failures)}")
    print("Rendering the pages ...", flush=True)
    render(root, build)
    record.write_text(key)
    return page


def main():
    parser = argparse.ArgumentParser(description="Execute and render the book.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent,
                        help="folder that holds _config.yml, book/ and kvteach/")
    root = parser.parse_args().root.resolve()
    began = time.monotonic()
    build = root / "_build"
    build.mkdir(exist_ok=True)
    try:
        with alone(build / "build.lock", "Another build"):
            page = build_book(root)
    except BuildError as error:
        sys.exit(f"{error}\nThe book was not built.")
    print(f"{time.monotonic() - began:.0f} s. Open {page}")


if __name__ == "__main__":
    main()
