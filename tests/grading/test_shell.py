"""The grader names commands that work in the shell it was called from."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kvteach.grading import report


@pytest.fixture
def no_kvteach_on_path(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))


def test_an_activated_shell_gets_the_plain_name(monkeypatch, tmp_path):
    script = tmp_path / "kvteach"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert report.kvteach_command() == "kvteach"


def test_elsewhere_the_script_is_named_from_here(monkeypatch, tmp_path, no_kvteach_on_path):
    tools = tmp_path / "an env" / "bin"
    tools.mkdir(parents=True)
    (tools / "kvteach").write_text("#!/bin/sh\n")
    (tools / "kvteach").chmod(0o755)
    monkeypatch.setattr(report.sys, "executable", str(tools / "python"))
    monkeypatch.chdir(tmp_path)
    assert shlex.split(report.kvteach_command()) == [str(Path("an env/bin/kvteach"))]


def test_without_a_script_the_module_runs(monkeypatch, tmp_path, no_kvteach_on_path):
    python = sys.executable
    monkeypatch.setattr(report.sys, "executable", str(tmp_path / "python"))
    monkeypatch.chdir(tmp_path)
    assert report.kvteach_command() == "./python -m kvteach.cli"
    done = subprocess.run([python, "-m", "kvteach.cli", "grade", "--help"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "exercises" in done.stdout
