"""The pytest plugin behind the checks: fixture `answer`, option --target.

exercises/conftest.py loads it for plain `pytest exercises/ch02_...`; the judge
loads it by name. KVTEACH_TARGET stands in where the option is not given.
"""

import os
import re
from pathlib import Path

import pytest

from kvteach.grading.answer import Answer, Worker, WrongAnswer, Zygote

TARGETS = ("exercises", "solutions")
CHECK_FILE = re.compile(r"test_(\w+)\.py")

_zygote = pytest.StashKey()
_broken = pytest.StashKey()


def pytest_addoption(parser):
    """--target exercises|solutions: whose functions the checks receive."""
    parser.addoption(
        "--target",
        choices=TARGETS,
        default=os.environ.get("KVTEACH_TARGET", "exercises"),
        help="which folder's answers the checks of exercises/ judge",
    )


def pytest_sessionstart(session):
    """Have torch loaded in the other process while pytest collects."""
    if not session.config.option.collectonly:
        session.config.stash[_zygote] = Zygote()


def pytest_sessionfinish(session):
    """End the other process."""
    zygote = session.config.stash.get(_zygote, None)
    if zygote is not None:
        zygote.close()


@pytest.fixture
def answer(request):
    """The learner's module, freshly loaded in a process of its own."""
    stash = request.config.stash
    broken = stash.setdefault(_broken, {})
    path = target_file(request.path, request.config.getoption("--target"))
    if path in broken:  # a file that hangs when loaded hangs every time
        pytest.fail(broken[path], pytrace=False)
    worker = None
    try:
        worker = Worker(stash[_zygote])
        worker.load(path)
    except WrongAnswer as wrong:
        broken[path] = str(wrong)
    if path in broken:
        if worker is not None:
            worker.close()
        pytest.fail(broken[path], pytrace=False)
    yield Answer(worker)
    print(worker.printed(), end="")  # pytest shows it with a failing check
    worker.close()


def target_file(checks_file, target):
    """exercises/chNN/test_x.py judges target/chNN/x.py."""
    name = CHECK_FILE.fullmatch(checks_file.name).group(1)
    folder = Path(checks_file).parent
    return folder.parent.parent / target / folder.name / f"{name}.py"
