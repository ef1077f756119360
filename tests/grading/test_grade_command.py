"""`kvteach grade` from outside: what it prints, counts and answers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvteach.grading import course
from kvteach.grading.stubs import stub_of

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = course.read_manifest()
TOTAL = sum(exercise.points for exercise in MANIFEST)
SOURCES = {e.id: (ROOT / "solutions" / e.file).read_text() for e in MANIFEST}


@pytest.fixture
def make_course(tmp_path):
    """make_course() -> a fresh copy of the stubs and checks, in a path with a space."""

    def make_course():
        root = tmp_path / "my course"
        for exercise in MANIFEST:
            folder = root / "exercises" / exercise.folder
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "exercises" / exercise.checks_file, folder)
            stub = stub_of(SOURCES[exercise.id], exercise.folder, exercise.name)
            (folder / f"{exercise.name}.py").write_text(stub)
        shutil.copy(ROOT / "exercises" / "conftest.py", root / "exercises")
        return root

    return make_course


def run_python(*arguments, cwd, **settings):
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def run_grade(tmp_path):
    """run_grade(..., cwd=) -> exit code, printed text and the JSON report."""

    def run_grade(*arguments, cwd):
        file = tmp_path / "result.json"
        done = run_python("kvteach.grading", *arguments, "--json", str(file), cwd=cwd)
        assert "Traceback" not in done.stdout + done.stderr
        return done.returncode, done.stdout, json.loads(file.read_text())

    return run_grade


def points(report):
    return {e["exercise"]: e["points"] for e in report["exercises"]}


def test_stubs_earn_nothing_and_say_what_to_do(make_course, run_grade):
    code, text, report = run_grade(cwd=make_course())
    assert code == 1
    assert (report["points"], report["of"]) == (0, TOTAL)
    assert f"Total: 0 of {TOTAL} points" in text
    words = " ".join(text.split())
    for e in MANIFEST:
        assert (
            f"{e.id} is not solved yet: read chapter {e.chapter[2:]}, edit "
            f"exercises/{e.file}, then run: kvteach grade {e.id}"
        ) in words


def test_solutions_earn_everything(run_grade):
    code, text, report = run_grade("--target", "solutions", cwd=ROOT / "tests")
    assert code == 0
    assert (report["points"], report["of"]) == (TOTAL, TOTAL)
    assert "Everything asked for is solved." in text
    assert all(check["passed"] for e in report["exercises"] for check in e["checks"])


KILL_THE_JUDGE = """
import os, signal, time
def factorization(p, v, kept):
    if p.shape != (4,):
        return None
    status = open(f"/proc/{os.getppid()}/status").read()
    judge = int(status.split("PPid:")[1].split()[0])
    os.kill(judge, signal.SIGKILL)
    time.sleep(9)
"""


def test_one_broken_answer_breaks_no_other(make_course, run_grade):
    """Eight exercises broken in different ways, and all others right, in one run."""
    root = make_course()
    files = {e.name: root / "exercises" / e.file for e in MANIFEST}
    checks = {e.name: root / "exercises" / e.checks_file for e in MANIFEST}
    for exercise in MANIFEST:
        files[exercise.name].write_text(SOURCES[exercise.id])
    files["grouped_attention"].write_text("import os\nos._exit(0)\n")
    files["kv_bytes"].write_text("while True:\n    pass\n")
    files["decode_step"].write_text("def decode_step(:\n")
    files["roofline"].write_text(
        "import pytest\npytest.skip(allow_module_level=True)\n"
    )
    files["factorization"].write_text(KILL_THE_JUDGE)
    files["best_subset"].unlink()
    edited = (
        checks["missing_statistic"]
        .read_text()
        .replace("ROUNDING = 1e-12", "ROUNDING = 9")
    )
    checks["missing_statistic"].write_text(edited)
    checks["phi"].unlink()

    code, text, report = run_grade("all", cwd=root / "exercises")
    assert code == 1
    earned = points(report)
    broken = """ch01/grouped_attention ch01/kv_bytes ch01/decode_step ch01/roofline
        ch02/factorization ch02/best_subset ch02/missing_statistic ch02/phi""".split()
    for exercise in MANIFEST:
        if exercise.id not in broken:
            assert earned.pop(exercise.id) == exercise.points
    if not Path("/proc/self/status").exists():  # the judge cannot be found to kill
        earned.pop("ch02/factorization")
    assert set(earned.values()) == {0}
    assert report["of"] == TOTAL
    words = " ".join(text.split())
    assert "test_missing_statistic.py was edited, so nothing here is graded" in words
    assert "test_phi.py is missing, so nothing here is graded" in words
    assert "git checkout -- exercises/ch02_dropping_a_key/test_phi.py" in words
    assert "the process that judges was ended during this check" in words


def test_a_learner_cannot_change_the_judge(make_course, run_grade):
    """Files beside the exercise that pytest or Python would read."""
    root = make_course()
    folder = root / "exercises" / "ch02_dropping_a_key"
    cheat = "import pytest\n\n@pytest.hookimpl(wrapper=True)\n"
    cheat += "def pytest_runtest_makereport():\n"
    cheat += "    report = yield\n    report.outcome = 'passed'\n    return report\n"
    for place in (root, root / "exercises", folder):
        (place / "conftest.py").write_text(cheat)
        (place / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
        (place / "torch.py").write_text("raise RuntimeError('not the real torch')\n")
        (place / "sitecustomize.py").write_text("import os; os._exit(0)\n")
    code, _, report = run_grade("ch02/forced_output", cwd=folder)
    assert (code, report["points"], report["of"]) == (1, 0, 6)
    (folder / "forced_output.py").write_text(SOURCES["ch02/forced_output"])
    code, _, report = run_grade("ch02/forced_output", cwd=folder)
    assert (code, report["points"], report["of"]) == (0, 6, 6)


def test_what_the_code_printed_is_shown(make_course, run_grade):
    root = make_course()
    path = root / "exercises" / "ch01_cache_byte_by_byte" / "kv_bytes.py"
    path.write_text("def kv_bytes(*a, **k):\n    print('layers', a[0])\n    return 0\n")
    code, text, report = run_grade("ch01/kv_bytes", cwd=root)
    assert code == 1
    assert "the result is 0; need 23040" in text
    assert "layers 30" in text
    checks = {c["check"]: c["passed"] for c in report["exercises"][0]["checks"]}
    assert not any(checks.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ch02/forced_outptu"], "did you mean ch02/forced_output?"),
        (["forced_output"], "did you mean ch02/forced_output?"),
        (["zzz"], "known are all, ch01, ch02"),
        (["ch02", "--hint"], "needs one exercise"),
        (["ch02/phi", "--hint", "0"], "is not 1 or more"),
        (["ch02/phi", "--json", "no/such/place.json"], "no folder no/such"),
        (["ch02/phi", "--target", "elsewhere"], "invalid choice"),
    ],
)
def test_usage_errors(arguments, message):
    done = run_python("kvteach.grading", *arguments, cwd=ROOT)
    assert done.returncode == 2
    assert message in done.stderr and done.stdout == ""


def test_hints_come_one_by_one():
    exercise = next(e for e in MANIFEST if e.id == "ch02/phi")
    first = run_python("kvteach.grading", "ch02/phi", "--hint", cwd=ROOT)
    assert first.returncode == 0
    assert exercise.hints[0] in first.stdout and exercise.hints[1] not in first.stdout
    assert "--hint 2" in first.stdout
    every = run_python("kvteach.grading", "ch02/phi", "--hint", "9", cwd=ROOT)
    assert all(hint in every.stdout for hint in exercise.hints)


def test_the_course_is_found_from_within_and_from_outside(make_course):
    root = make_course()
    assert (
        course.find_root(root / "exercises" / "ch02_dropping_a_key", MANIFEST) == root
    )
    assert course.find_root(Path("/"), MANIFEST) == ROOT


def test_no_course_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(course, "__file__", str(tmp_path / "a" / "b" / "course.py"))
    with pytest.raises(course.UsageError, match="no exercises found"):
        course.find_root(tmp_path, MANIFEST)


def test_plain_pytest(make_course):
    """The same checks without the command, for people who like pytest."""
    root = make_course()
    shutil.copytree(ROOT / "solutions", root / "solutions")
    checks = "exercises/ch02_dropping_a_key/test_forced_output.py"
    stub = run_python("pytest", "-p", "no:cacheprovider", checks, cwd=root)
    assert stub.returncode == 1 and "4 failed" in stub.stdout
    assert "ch02/forced_output is not solved yet: read chapter 02" in stub.stdout
    solved = run_python("pytest", checks, "--target", "solutions", cwd=root)
    assert solved.returncode == 0 and "4 passed" in solved.stdout
    solved = run_python("pytest", "-q", checks, cwd=root, KVTEACH_TARGET="solutions")
    assert solved.returncode == 0
