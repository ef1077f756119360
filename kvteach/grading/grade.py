"""Grading: start the judge, collect what it reports, add up the points.

Each check is worth its points or nothing. What the judge does not report, or
reports without the token that it was given, earns nothing; a judge that dies in
one check is started again for the checks after it.
"""

import contextlib
import json
import os
import secrets
import selectors
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

from kvteach.grading.course import checks_problem

SILENCE_LIMIT = 120.0
"""Seconds without a report after which the judge counts as stuck."""


@dataclass
class CheckResult:
    """What one check earned, and why no more."""

    name: str
    title: str
    points: int
    passed: bool = False
    message: str = ""
    printed: str = ""

    @property
    def earned(self):
        """All of the points or none."""
        return self.points if self.passed else 0


@dataclass
class ExerciseResult:
    """What one exercise earned."""

    exercise: object
    checks: list = field(default_factory=list)
    problem: str = ""

    @property
    def earned(self):
        """Points of the checks that passed."""
        return sum(check.earned for check in self.checks)

    @property
    def solved(self):
        """Whether every point is earned."""
        return self.earned == self.exercise.points


def grade(exercises, root, target):
    """An ExerciseResult for each exercise of the manifest, in the same order."""
    results, pending = [], {}
    for exercise in exercises:
        result = ExerciseResult(exercise, problem=checks_problem(exercise, root))
        results.append(result)
        for check in exercise.checks:
            outcome = CheckResult(check.name, check.title, check.points)
            outcome.message = result.problem
            result.checks.append(outcome)
            if not result.problem:
                pending[f"{exercise.checks_file}::{check.name}"] = outcome
    while pending:
        _run_judge(pending, root, target)
    return results


def _run_judge(pending, root, target):
    """Judge pending checks and take out those settled: at least one."""
    running, trouble, before = (
        None,
        "the judge did not come to this check",
        len(pending),
    )
    for event in _events(list(pending), root, target):
        if event["event"] == "started":
            running = event["check"]
        elif event["event"] == "ended" and event["check"] in pending:
            check = pending.pop(event["check"])
            check.passed = event["passed"] is True
            check.message, check.printed = event["message"], event["printed"]
            running = None
        elif event["event"] == "trouble":
            trouble = event["message"]
        elif event["event"] == "done":
            _give_up(pending, trouble)
    if running in pending:
        check = pending.pop(running)
        check.message = "the process that judges was ended during this check"
    elif len(pending) == before:
        _give_up(pending, trouble)


def _give_up(pending, message):
    for check in pending.values():
        check.message = message
    pending.clear()


def _events(checks, root, target):
    """What one judge reports, until it ends or falls silent."""
    token = secrets.token_hex(16)
    order = {"token": token, "root": str(root), "target": target, "checks": checks}
    settings = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    with tempfile.TemporaryDirectory() as empty:  # nothing of the course on sys.path
        with open(os.path.join(empty, "stderr"), "w+") as stderr:
            judge = subprocess.Popen(
                [sys.executable, "-m", "kvteach.grading.judge"],
                env={**environment, **settings},
                cwd=empty,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
            try:
                with contextlib.suppress(BrokenPipeError), judge.stdin:
                    judge.stdin.write(json.dumps(order).encode())
                for line in _lines(judge.stdout):
                    yield from _read_event(line, token)
            finally:
                judge.kill()
                judge.wait()
                judge.stdout.close()
            stderr.seek(0)
            last = "".join(stderr.read().strip().splitlines()[-1:])
            message = "the process that judges stopped early. " + last
            yield {"event": "trouble", "message": message.strip()}


def _lines(pipe):
    """Lines as they come; ends at the end of the pipe or after a long silence."""
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while selector.select(SILENCE_LIMIT):
            chunk = os.read(pipe.fileno(), 65536)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines


def _read_event(line, token):
    """The event of a line, in a list; an empty one for a line not of the judge's."""
    try:
        event = json.loads(line)
        return [event] if event["token"] == token else []
    except (ValueError, TypeError, KeyError):
        return []
