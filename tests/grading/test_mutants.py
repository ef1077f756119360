"""Every plausible wrong answer loses points; the right one loses none."""

import functools
import re
from pathlib import Path

import pytest

from kvteach.grading.course import read_manifest
from kvteach.grading.stubs import load_file

EXERCISES = {exercise.name: exercise for exercise in read_manifest()}
NAMES = list(EXERCISES)
FILES = sorted(Path(__file__).with_name("mutants").glob("ch*.py"))
MUTANTS = {name: m for file in FILES for name, m in load_file(file).MUTANTS.items()}
CASES = [(name, what) for name in NAMES for what in MUTANTS.get(name, {})]


def mutate(source, replacements):
    """Replace every place of each text; one that is not there is an error."""
    for old, new in replacements.items():
        assert old in source, f"the solution no longer contains {old!r}"
        source = source.replace(old, new)
    compile(source, "mutant", "exec")
    return source


@pytest.fixture(scope="module")
def verdict(judge, solution, tmp_path_factory):
    """verdict(name, what) -> {check: message} of one mutant, judged once."""

    @functools.cache
    def verdict(name, what):
        path = tmp_path_factory.mktemp("mutant") / f"{name}.py"
        path.write_text(mutate(solution(name), MUTANTS[name][what]))
        return judge(name, path)

    return verdict


@pytest.mark.parametrize("name", NAMES)
def test_enough_mutants(name):
    assert len(MUTANTS[name]) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_solution_passes_every_check(name, submit, solution):
    assert set(submit(name, solution(name)).values()) == {""}


@pytest.mark.parametrize(("name", "what"), CASES)
def test_mutant_loses_points(name, what, verdict):
    failed = [message for message in verdict(name, what).values() if message]
    assert failed, f"{name} passes although: {what}"
    for message in failed:  # a mutant that does not run at all proves nothing
        assert not re.search(
            "NameError|SyntaxError|UnboundLocal|cannot be loaded", message
        )


@pytest.mark.parametrize("name", NAMES)
def test_every_check_has_a_purpose(name, verdict):
    """A check that no mutant fails would give points away."""
    told = set()
    for what in MUTANTS[name]:
        told |= {check for check, message in verdict(name, what).items() if message}
    assert told == {check.name for check in EXERCISES[name].checks}
