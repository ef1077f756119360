"""What `kvteach grade` prints, and the same as plain data for --json."""

import os
import shlex
import shutil
import sys
import textwrap
from pathlib import Path

LEVELS = {1: "easy", 2: "medium", 3: "harder"}


def as_text(results, target):
    """The whole report, for people."""
    lines = []
    for result in results:
        lines += _exercise_lines(result)
    lines += ["", total_line(results)]
    lines += _next_step(results, target)
    return "\n".join(lines)


def as_data(results, target):
    """The whole report, for programs."""
    return {
        "target": target,
        "points": sum(r.earned for r in results),
        "of": sum(r.exercise.points for r in results),
        "exercises": [
            {
                "exercise": r.exercise.id,
                "title": r.exercise.title,
                "points": r.earned,
                "of": r.exercise.points,
                "solved": r.solved,
                "problem": r.problem,
                "checks": [
                    {
                        "check": c.name,
                        "title": c.title,
                        "points": c.earned,
                        "of": c.points,
                        "passed": c.passed,
                        "message": c.message,
                        "printed": c.printed,
                    }
                    for c in r.checks
                ],
            }
            for r in results
        ],
    }


def total_line(results):
    """Points and exercises solved, over everything asked for."""
    earned = sum(r.earned for r in results)
    of = sum(r.exercise.points for r in results)
    solved = sum(r.solved for r in results)
    return (
        f"Total: {earned} of {of} points, {solved} of {len(results)} exercises solved"
    )


def _exercise_lines(result):
    exercise = result.exercise
    about = f"{LEVELS[exercise.difficulty]}, about {exercise.minutes} minutes"
    score = f"{result.earned} of {exercise.points} points"
    lines = ["", f"{exercise.id}: {exercise.title} ({about}): {score}"]
    messages = {check.message for check in result.checks}
    if len(messages) == 1 and result.checks and not result.checks[0].passed:
        # One cause for all, like a file that cannot be loaded: say it once.
        first = result.checks[0]
        return lines + _indented(first.message, 4) + _printed(first)
    for check in result.checks:
        mark = "ok  " if check.passed else "FAIL"
        lines.append(f"  {mark} {check.earned}/{check.points}  {check.title}")
        if not check.passed:
            lines += _indented(check.message, 12) + _printed(check)
    return lines


def _printed(check):
    if not check.printed.strip():
        return []
    last = check.printed.strip().splitlines()[-5:]
    return ["            Your code printed, at the end:"] + [
        " " * 14 + line[:80] for line in last
    ]


def _indented(message, width):
    space = " " * width
    lines = []
    for line in message.splitlines():
        lines += textwrap.wrap(
            line,
            88,
            initial_indent=space,
            subsequent_indent=space,
            break_on_hyphens=False,
        )
    return lines


def _next_step(results, target):
    left = [r for r in results if not r.solved]
    if not left:
        return ["Everything asked for is solved."]
    exercise = left[0].exercise
    if target != "exercises" or left[0].problem:
        return []
    command = kvteach_command()
    lines = [
        f"Next: edit exercises/{exercise.file}, then run: {command} grade {exercise.id}",
        f"A hint: {command} grade {exercise.id} --hint",
    ]
    if command != "kvteach":
        lines.append(
            "(This shell does not find plain `kvteach`; after "
            "`source .venv/bin/activate`, in the folder of the repository, it does.)"
        )
    return lines


def kvteach_command():
    """What to type for `kvteach` in this shell and folder.

    The plain name where the shell finds it, else the script beside the running
    interpreter, else that interpreter with the module.
    """
    if shutil.which("kvteach"):
        return "kvteach"
    here = Path(sys.executable)
    script = shutil.which("kvteach", path=str(here.parent))
    path = os.path.relpath(script or here)
    typed = shlex.quote(path if os.sep in path else os.path.join(".", path))
    return typed if script else f"{typed} -m kvteach.cli"
