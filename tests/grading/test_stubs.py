"""exercises/ and manifest.json are what solutions/ says, and nobody's work is lost."""

import ast
import json
import shutil
from pathlib import Path

import pytest

from kvteach.grading import stubs
from kvteach.grading.course import MANIFEST, read_manifest

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = stubs.exercises_of(ROOT)


@pytest.mark.parametrize(("folder", "name"), EXERCISES)
def test_stub_does_not_drift(folder, name):
    source = (ROOT / "solutions" / folder / f"{name}.py").read_text()
    stub = (ROOT / "exercises" / folder / f"{name}.py").read_text()
    assert stub == stubs.stub_of(source, folder, name), "run: make exercises"


def test_manifest_does_not_drift():
    entries = {e["id"]: e for e in json.loads(MANIFEST.read_text())["exercises"]}
    fresh = [stubs.manifest_entry(ROOT, folder, name) for folder, name in EXERCISES]
    assert entries == {e["id"]: json.loads(json.dumps(e)) for e in fresh}


@pytest.mark.parametrize(("folder", "name"), EXERCISES)
def test_a_stub_is_the_solution_without_its_bodies(folder, name):
    """Same imports, signatures and docstrings; every function says what is missing."""
    source = (ROOT / "solutions" / folder / f"{name}.py").read_text()
    solution, stub = ast.parse(source), ast.parse(stubs.stub_of(source, folder, name))
    assert len(solution.body) == len(stub.body)
    for one, other in zip(solution.body, stub.body):
        if not isinstance(one, ast.FunctionDef):
            assert ast.dump(one) == ast.dump(other)
            continue
        assert ast.dump(one.args) == ast.dump(other.args)
        assert ast.get_docstring(one) == ast.get_docstring(other)
        assert [type(x) for x in other.body] == [ast.Expr, ast.Raise]


@pytest.mark.parametrize("exercise", read_manifest(), ids=lambda e: e.id)
def test_an_exercise_is_complete(exercise):
    assert 3 <= len(exercise.checks) <= 5
    assert all(check.points >= 1 for check in exercise.checks)
    assert len({check.title for check in exercise.checks}) == len(exercise.checks)
    assert exercise.difficulty in (1, 2, 3) and exercise.minutes >= 5
    assert len(exercise.hints) >= 3
    code = ("torch.", "==", " / ", "*", "[")
    assert not any(
        sign in exercise.hints[0] for sign in code
    ), "the first hint has code"


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    return 1\n",
        "def f():\n    # BEGIN SOLUTION\n    return 1\n",
        "def f():\n    return 1\n    # END SOLUTION\n",
        "def f():\n    # BEGIN SOLUTION\n    return 1\n  # END SOLUTION\n",
    ],
)
def test_unmatched_markers_are_refused(source):
    with pytest.raises(ValueError, match="ch03_x/f.py: solution markers"):
        stubs.stub_of(source, "ch03_x", "f")


@pytest.fixture
def course(tmp_path):
    """A course of one exercise, and its manifest."""
    folder = "ch02_dropping_a_key"
    for kind, name in (
        ("solutions", "forced_output"),
        ("exercises", "test_forced_output"),
    ):
        (tmp_path / kind / folder).mkdir(parents=True)
        shutil.copy(ROOT / kind / folder / f"{name}.py", tmp_path / kind / folder)
    stub = tmp_path / "exercises" / folder / "forced_output.py"
    manifest = tmp_path / "manifest.json"
    assert stubs.generate(tmp_path, manifest) == []
    return tmp_path, manifest, stub


def test_an_edited_stub_is_left_alone(course):
    root, manifest, stub = course
    generated, recorded = stub.read_text(), manifest.read_text()
    stub.write_text("my work\n")
    assert stubs.generate(root, manifest) == [stub]
    assert stub.read_text() == "my work\n" and manifest.read_text() == recorded
    assert stubs.generate(root, manifest, force=True) == []
    assert stub.read_text() == generated


def test_an_untouched_stub_follows_its_solution(course):
    root, manifest, stub = course
    source = root / "solutions" / stub.parent.name / stub.name
    source.write_text(
        source.read_text().replace("The forced output:", "Another title:")
    )
    assert stubs.generate(root, manifest) == []
    assert stub.read_text().startswith('"""Another title:')
    assert [e.name for e in read_manifest(manifest)] == ["forced_output"]
