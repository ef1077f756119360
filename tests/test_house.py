"""The rooms of the library import downwards only (see the page on its layout)."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kvteach

ROOT = Path(kvteach.__file__).parent

FLOORS = [
    {"cli"},
    {"doctor", "grading", "evaluate"},
    {"draw"},
    {"engine"},
    {"methods"},
    {"compile"},
    {"scores", "budgets", "caches", "compensate"},
    {"capture", "corpora", "rows"},
    {"models", "attention", "recall"},
    {"bundled"},
    {"kernels"},
    {"notation", "shards"},
]
"""From the roof down. A module may import its own room and every lower floor."""


def floor_of(room):
    return next(i for i, rooms in enumerate(FLOORS) if room in rooms)


def modules():
    return sorted(ROOT.rglob("*.py"))


def imports_of(path):
    """Rooms of kvteach that a file imports, anywhere in it."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "kvteach":
                yield from (alias.name for alias in node.names)
            elif node.module.startswith("kvteach."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("kvteach."))


def room_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_imports_go_down(path):
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    for other in imports_of(path):
        if other in (room, "__version__"):
            continue
        assert floor_of(other) > floor_of(room), f"{path.name} imports {other} from above or beside"


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_stay_readable(path):
    lines = path.read_text().splitlines()
    assert len(lines) <= 330, "split this file: one idea each"
    assert ast.get_docstring(ast.parse(path.read_text())), "say what this file is for"


def test_rows_know_no_transformers():
    for path in (ROOT / "rows").rglob("*.py"):
        assert "transformers" not in path.read_text(), path.name


def test_importing_the_package_does_no_work():
    code = "import sys, kvteach; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
