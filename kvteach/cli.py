"""The command ``kvteach``: one parser, one function a command."""

import argparse
import sys

from kvteach import __version__


def main(argv=None):
    """Run one command; returns its exit code (0 well, 1 not, 2 wrong usage)."""
    from kvteach.compile import command as compiled
    from kvteach.evaluate.atlas import command as atlas
    from kvteach.evaluate.compare import command as compare
    from kvteach.grading import command as grading

    parser = argparse.ArgumentParser(
        prog="kvteach",
        description="KV-cache compression, taught from first principles.",
    )
    parser.add_argument("--version", action="version", version=f"kvteach {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    doctor = commands.add_parser("doctor", help="what is here, what is missing, how to mend it")
    doctor.set_defaults(run=_doctor)
    fetch = commands.add_parser("fetch", help="get an optional corpus")
    fetch.add_argument("corpus", choices=["french"])
    fetch.set_defaults(run=_fetch)
    grading.add_parser(commands)
    atlas.add_parser(commands)
    compare.add_parser(commands)
    compiled.add_parser(commands)

    arguments = parser.parse_args(argv)
    return arguments.run(arguments)


def _doctor(_):
    from kvteach import doctor

    findings = doctor.examine()
    print(doctor.report(findings))
    return 0 if doctor.main_job_runs(findings) else 1


def _fetch(_):
    from kvteach import corpora

    try:
        print(corpora.fetch_french())
    except corpora.CorpusError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
