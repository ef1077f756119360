"""`kvteach grade`: what it understands and what it answers.

Ends 0 when everything asked for is solved, 1 when not, 2 when what was asked
for does not exist.
"""

import argparse
import json
import sys
from pathlib import Path

from kvteach.grading.course import UsageError, find_root, read_manifest, select
from kvteach.grading.grade import grade
from kvteach.grading.report import as_data, as_text, kvteach_command

EPILOG = """\
kvteach grade                             every exercise
kvteach grade ch02                        one chapter
kvteach grade ch02/forced_output          one exercise
kvteach grade ch02/forced_output --hint   its first hint; --hint 2 shows two
"""


def add_parser(subparsers):
    """Add `grade` to the subcommands; parsed arguments carry ``run(args)``."""
    parser = subparsers.add_parser(
        "grade",
        help="grade the exercises",
        description="Run the checks of the exercises and add up the points.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "what", nargs="?", default="all", help="all, a chapter, or chapter/exercise"
    )
    parser.add_argument(
        "--target",
        choices=("exercises", "solutions"),
        default="exercises",
        help="whose answers to grade: yours (the default) or the worked solutions",
    )
    parser.add_argument(
        "--hint",
        nargs="?",
        type=int,
        const=1,
        metavar="N",
        help="show the first N hints of one exercise instead of grading it",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the result to FILE as well"
    )
    parser.set_defaults(run=run)
    return parser


def run(args):
    """Do what was asked; return the exit code."""
    try:
        manifest = read_manifest()
        exercises = select(manifest, args.what)
        if args.hint is not None:
            print(hints(exercises, args.hint))
            return 0
        root = find_root(Path.cwd(), manifest)
        if args.json and not args.json.parent.is_dir():
            raise UsageError(f"--json: there is no folder {args.json.parent}")
    except UsageError as error:
        print(f"kvteach grade: {error}", file=sys.stderr)
        return 2
    results = grade(exercises, root, args.target)
    if args.json:
        data = json.dumps(as_data(results, args.target), indent=2)
        args.json.write_text(data + "\n", encoding="utf-8")
    print(as_text(results, args.target))
    return 0 if all(result.solved for result in results) else 1


def hints(exercises, count):
    """The first ``count`` hints of the one exercise asked for."""
    if len(exercises) != 1:
        raise UsageError("--hint needs one exercise, like ch02/forced_output")
    exercise = exercises[0]
    if count < 1:
        raise UsageError(f"--hint: {count} is not 1 or more")
    shown = exercise.hints[:count]
    lines = [f"Hint {i} of {len(exercise.hints)}: {h}" for i, h in enumerate(shown, 1)]
    if len(shown) < len(exercise.hints):
        lines.append(
            f"The next one: {kvteach_command()} grade {exercise.id} "
            f"--hint {len(shown) + 1}"
        )
    else:
        lines.append(
            f"That was the last; the worked solution: solutions/{exercise.file}"
        )
    return "\n".join(lines)
