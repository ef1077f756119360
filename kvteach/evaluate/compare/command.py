"""`kvteach compare`: what it understands and what it answers.

Ends 0 when the comparison is whole, 1 when something on this machine stands in the
way, 2 when it was asked for in a wrong way, 130 when interrupted.
"""

import argparse
import json
import sys
from pathlib import Path

EPILOG = """\
kvteach compare out/                        every method, facts in prose, 48 documents
kvteach compare out/ --jobs 2 --budgets 0.5 0.25 0.125 --tasks mixed_facts repeated_code
kvteach compare out/ --conditions visible document after --methods snapkv contourkv
kvteach compare out/ --model Qwen/Qwen3-0.6B --tokens 4096
kvteach compare out/ --methods snapkv:window=16 kvzap:network=network.safetensors
kvteach compare out/ --add certkv core      more methods on the documents of out/

A run that was stopped continues where it was when the same command is given again.
Files: answers.parquet, summary.json, summary.md, plan.json.
"""


def add_parser(commands):
    """Add `compare` to the subcommands; parsed arguments carry ``run(args)``."""
    parser = commands.add_parser(
        "compare",
        help="compare methods on the same documents",
        description="Methods, budgets, tasks and conditions on the same documents: "
        "answers, bytes held, paired records with intervals.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("out", type=Path, metavar="OUT", help="folder; new, empty or to be continued")
    add("--model", metavar="ID", help="folder or Hub id; default: the bundled model")
    add("--dtype", choices=["float32", "bfloat16", "float16"], help="of the model")
    add("--tasks", nargs="+", default=["mixed_facts"], metavar="NAME")
    add("--tokens", type=int, default=1024, metavar="T", help="tokens per document (1024)")
    add("--documents", type=int, default=48, metavar="N", help="documents per task (48)")
    add("--questions", type=int, default=0, metavar="Q",
        help="questions per document at most (0: all)")
    add("--methods", nargs="+", metavar="NAME", help="default: all")
    add("--add", nargs="+", metavar="NAME",
        help="methods to add to a finished comparison; everything else is as it was there")
    add("--budgets", nargs="+", type=float, default=[0.5, 0.25], metavar="SHARE",
        help="shares of the keys that stay (0.5 0.25)")
    add("--conditions", nargs="+", default=["after"], metavar="WHEN",
        help="after, visible, document: when the question comes, and what may rank (after)")
    add("--seed", type=int, default=0, help="of documents and facts (0)")
    add("--jobs", type=int, metavar="J", help="documents at a time, -1 for one per core (1)")
    parser.set_defaults(run=run)
    return parser


def run(args):
    """Do what was asked; return the exit code."""
    from kvteach.corpora import CorpusError
    from kvteach.shards import PlanError
    from kvteach.models import ModelError

    if args.jobs == 0 or (args.out.exists() and not args.out.is_dir()):
        what = "jobs: 0 is nobody; need a number of processes, or -1 for all cores"
        print(f"kvteach compare: {what if args.jobs == 0 else f'out: {args.out} is a file'}",
              file=sys.stderr)
        return 2
    try:
        _add(args) if args.add else _measure(args)
    except (ModelError, CorpusError, NotImplementedError) as error:
        print(f"kvteach compare: {error}", file=sys.stderr)
        return 1
    except PlanError as error:
        print(f"kvteach compare: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("kvteach compare: interrupted; whole documents are kept, and the same "
              "command continues", file=sys.stderr)
        return 130
    print(args.out / "summary.md")
    return 0


def _measure(args):
    from kvteach.evaluate.compare.measure import measure_answers
    from kvteach.evaluate.compare.plan import make_plan
    from kvteach.shards import Shards
    from kvteach.evaluate.work import load_once
    from kvteach.models import BUNDLED

    loaded = load_once(args.model or BUNDLED, args.dtype)
    plan = make_plan(
        loaded, tuple(args.tasks), args.tokens, args.documents, args.questions,
        args.methods, tuple(args.budgets), tuple(args.conditions), args.seed,
    )
    table = measure_answers(args.out, plan, args.jobs)
    made = Shards(args.out, "answers", plan.count).provenance()
    _write(args.out, plan, table, {
        "cpu_seconds": round(sum(m["cpu_seconds"] for m in made), 1),
        "machine": "; ".join(sorted({m["machine"] for m in made})),
        "kvteach": "; ".join(sorted({m["kvteach"] for m in made})),
    })


def _add(args):
    from kvteach.evaluate.compare import add

    plan, table, took = add.add_methods(args.out, args.add, args.jobs)
    add.put_down(args.out, plan, table)
    _write(args.out, plan, table, took)


def _write(folder, plan, table, took):
    """summary.json and summary.md."""
    from kvteach.evaluate.compare import report, summary
    from kvteach.shards import write_whole

    whole = {
        "plan": {k: v for k, v in json.loads(plan.to_json()).items() if k != "texts"},
        "took": took,
        **summary.summarise(table, plan),
    }
    write_whole(folder / "summary.json", (json.dumps(whole, indent=1) + "\n").encode())
    write_whole(folder / "summary.md", report.render(whole).encode())
