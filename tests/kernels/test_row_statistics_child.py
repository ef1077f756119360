"""Runs the interpreted tests in a child: Triton reads its variable when it is imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
FILE = Path(__file__).parent / "interpreted" / "test_row_statistics_values.py"


def test_row_statistics_in_the_interpreter():
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(FILE)],
        env=os.environ | {"TRITON_INTERPRET": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-4000:]
    assert "triton" in FILE.read_text() and "skipped" not in run.stdout
