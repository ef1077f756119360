"""A fast way to judge one file with the real checks in the real worker.

`judge` skips only the judge's own process, which the tests of the command go
through; the checks, the worker and the limits are those of `kvteach grade`.
"""

from pathlib import Path

import pytest

from kvteach.grading.answer import Answer, Worker, WrongAnswer, Zygote
from kvteach.grading.checks import checks_of
from kvteach.grading.course import read_manifest
from kvteach.grading.stubs import load_file

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = {exercise.name: exercise for exercise in read_manifest()}


@pytest.fixture(scope="session")
def zygote():
    zygote = Zygote()
    yield zygote
    zygote.close()


@pytest.fixture(scope="session")
def judge(zygote):
    """judge(name, path) -> {check name: message}; "" where the check passes."""
    modules = {}

    def judge(name, path):
        if name not in modules:
            modules[name] = load_file(ROOT / "exercises" / MANIFEST[name].checks_file)
        return {f.check.name: run(f, path) for f in checks_of(modules[name])}

    def run(function, path):
        worker = Worker(zygote)
        try:
            worker.load(path)
            function(Answer(worker))
        except (WrongAnswer, pytest.fail.Exception) as failure:
            return str(failure)
        finally:
            worker.close()
        return ""

    return judge


@pytest.fixture
def submit(judge, tmp_path):
    """submit(name, source) -> the same for a text in place of a file."""

    def submit(name, source):
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        return judge(name, path)

    return submit


@pytest.fixture(scope="session")
def solution():
    """solution(name) -> the text of the worked solution."""
    return lambda name: (ROOT / "solutions" / MANIFEST[name].file).read_text()
