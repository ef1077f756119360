"""`python -m kvteach.grading` is `kvteach grade`."""

import argparse
import sys

from kvteach.grading.command import add_parser

parser = argparse.ArgumentParser(prog="python -m kvteach.grading")
add_parser(parser.add_subparsers(required=True))
arguments = parser.parse_args(["grade", *sys.argv[1:]])
sys.exit(arguments.run(arguments))
