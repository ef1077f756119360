"""Where the exercises are, and what they are worth.

manifest.json travels with the package and lists every exercise and check. It
decides the totals, so that nothing a learner edits or deletes changes them.
Nothing here imports torch: `kvteach grade --hint` answers at once.
"""

import hashlib
import json
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

MANIFEST = Path(__file__).with_name("manifest.json")


class UsageError(ValueError):
    """What was asked for does not exist; the message says what does."""


@dataclass(frozen=True)
class ManifestCheck:
    """One check as published."""

    name: str
    title: str
    points: int


@dataclass(frozen=True)
class ManifestExercise:
    """One exercise as published: ``id`` is like "ch02/forced_output"."""

    id: str
    folder: str
    number: int
    title: str
    difficulty: int
    minutes: int
    hints: tuple
    checks: tuple
    checks_sha256: str
    stub_sha256: str

    @property
    def chapter(self):
        """Like "ch02"."""
        return self.id.partition("/")[0]

    @property
    def name(self):
        """Like "forced_output": the file's and its main function's name."""
        return self.id.partition("/")[2]

    @property
    def points(self):
        """What all checks together are worth."""
        return sum(check.points for check in self.checks)

    @property
    def file(self):
        """The learner's file, relative to exercises/ or solutions/."""
        return f"{self.folder}/{self.name}.py"

    @property
    def checks_file(self):
        """The check file, relative to exercises/."""
        return f"{self.folder}/test_{self.name}.py"


def read_manifest(path=MANIFEST):
    """Every exercise in the order of the course."""
    entries = json.loads(path.read_text(encoding="utf-8"))["exercises"]
    return [
        ManifestExercise(
            **{
                **entry,
                "hints": tuple(entry["hints"]),
                "checks": tuple(ManifestCheck(**check) for check in entry["checks"]),
            }
        )
        for entry in entries
    ]


def find_root(start, manifest):
    """The course that ``start`` is in, else the checkout kvteach runs from.

    A course is a folder whose exercises/ holds a folder that the manifest names.
    Raises UsageError where there is none.
    """
    checkout = Path(__file__).resolve().parents[2]
    for folder in (start, *start.parents, checkout):
        if any((folder / "exercises" / e.folder).is_dir() for e in manifest):
            return folder
    raise UsageError(
        f"no exercises found: neither {start} nor a folder above it has an exercises/ "
        "folder of this course; go to where you cloned it and run the command again"
    )


def select(manifest, what):
    """The exercises that "all", "ch02" or "ch02/forced_output" names."""
    chosen = [e for e in manifest if what in ("all", e.chapter, e.id)]
    if chosen:
        return chosen
    known = ["all", *dict.fromkeys(e.chapter for e in manifest)]
    ids = [e.id for e in manifest]
    names = {e.name: e.id for e in manifest}
    close = get_close_matches(what, known + ids, n=1)
    close += [names[n] for n in get_close_matches(what.rpartition("/")[2], names, n=1)]
    asked = (
        f": did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"
    )
    raise UsageError(f"there is no chapter or exercise {what!r}{asked}")


def digest(path):
    """sha256 of a text file, the same whatever its line ends."""
    text = path.read_bytes().replace(b"\r\n", b"\n")
    return hashlib.sha256(text).hexdigest()


def checks_problem(exercise, root):
    """Why the check file cannot be used, or "": it must be the published one."""
    path = root / "exercises" / exercise.checks_file
    if path.is_file() and digest(path) == exercise.checks_sha256:
        return ""
    what = "was edited" if path.is_file() else "is missing"
    shown = f"exercises/{exercise.checks_file}"
    return (
        f"{shown} {what}, so nothing here is graded. Restore it: "
        f"git checkout -- {shown}, or copy it from a fresh clone"
    )
