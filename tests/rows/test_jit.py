"""Compiled results do not outlive the sources that they were made from."""

import subprocess
import sys

CALLER = """
from kvteach.rows._jit import jit
from _called import called

@jit
def caller():
    return called()

print(caller())
"""
CALLED = """
from kvteach.rows._jit import jit

@jit
def called():
    return {}
"""


def test_an_edit_in_a_called_file_is_seen(tmp_path):
    def answer(number):
        (tmp_path / "_called.py").write_text(CALLED.format(number))
        code = (
            "import pathlib, sys\n"
            f"sys.path.insert(0, {str(tmp_path)!r})\n"
            "from kvteach.rows import _jit\n"
            f"_jit.forget_stale(pathlib.Path({str(tmp_path)!r}))\n"
            "import _caller"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    (tmp_path / "_caller.py").write_text(CALLER)
    assert [answer(1), answer(2), answer(2)] == ["1", "2", "2"]
    assert list((tmp_path / "__pycache__").glob("_caller.*.nbi"))
