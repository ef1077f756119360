"""Running the chapters' notebooks: what passes and what fails is told apart."""

import subprocess
import sys

import nbformat
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
