"""The chapters' notebooks: their first cell, and a run that tells what fails."""

import importlib.util
import subprocess
import sys

import nbformat
import notebooks
import pytest
from book_sources import ROOT
from nbformat.v4 import new_code_cell, new_notebook


def test_a_failing_notebook_fails_the_run_and_the_others_still_run(tmp_path):
    folder, out = tmp_path / "note books", tmp_path / "done"
    folder.mkdir()
    (folder / "data.txt").write_text("seen")
    for name, code in (("01_good", "print(open('data.txt').read())"), ("02_bad", "1 / 0"),
                       ("03_good", "import os; print('PYTHONPATH' in os.environ)")):
        nbformat.write(new_notebook(cells=[new_code_cell(code)]), folder / f"{name}.ipynb")
    command = [sys.executable, ROOT / "tools" / "run_notebooks.py", "--folder", folder]
    done = subprocess.run([*command, "--out", out], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "2 of 3 notebooks ran" in done.stdout
    assert "02_bad: FAILED" in done.stdout and "ZeroDivisionError" in done.stdout
    said = [nbformat.read(out / f"{name}.ipynb", 4).cells[0].outputs[0].text.strip()
            for name in ("01_good", "03_good")]
    assert said == ["seen", "False"]
    few = subprocess.run([*command, "01"], capture_output=True, text=True, timeout=120)
    assert few.returncode == 0 and "1 of 1 notebooks ran" in few.stdout
    none = subprocess.run([*command, "09"], capture_output=True, text=True, timeout=120)
    assert none.returncode == 1 and "make notebooks" in none.stderr


def cell(address, monkeypatch, folder):
    """Run the install cell where kvteach is missing; the commands that it gave."""
    given = []
    source = notebooks.INSTALL.format(address=address, records="results", data=["a-model"])
    monkeypatch.chdir(folder)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda command, check: given.append(command[1:]))
    exec(compile(source, "install cell", "exec"), {})
    return given


def test_the_first_cell_installs_the_wheel_beside_it(monkeypatch, tmp_path):
    (tmp_path / "kvteach-0.1.0-py3-none-any.whl").touch()
    pip = ["-m", "pip", "install", "--quiet"]
    assert cell("https://x", monkeypatch, tmp_path) == [
        [*pip, "kvteach-0.1.0-py3-none-any.whl"], [*pip, "--no-deps", "a-model"]]


def test_or_the_repository_with_its_records(monkeypatch, tmp_path):
    clone = str(tmp_path / "kvteach-repository")
    given = cell("https://x", monkeypatch, tmp_path)
    assert given[0] == ["clone", "--depth", "1", "https://x", clone]
    assert given[1][-1] == clone
    records = tmp_path / "results"
    assert records.readlink() == tmp_path / "kvteach-repository" / "benchmarks" / "results"


def test_without_either_it_says_what_is_missing(monkeypatch, tmp_path):
    with pytest.raises(FileNotFoundError, match="wheel"):
        cell(None, monkeypatch, tmp_path)


def test_launching_needs_an_address():
    done = subprocess.run([sys.executable, ROOT / "tools" / "notebooks.py", "--launch"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "address" in done.stderr
    assert not list((ROOT / "book").glob("*.ipynb"))
