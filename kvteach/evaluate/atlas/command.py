"""`kvteach map`: what it understands and what it answers.

Ends 0 when the map is whole, 1 when something on this machine stands in the way,
2 when it was asked for in a wrong way, 130 when interrupted.
"""

import argparse
import json
import sys
from pathlib import Path

EPILOG = """\
kvteach map out/                         the bundled model, 9 documents
kvteach map out/ --jobs 4                the same rows, four documents at a time
kvteach map out/ --model Qwen/Qwen3-0.6B --tokens 4096
kvteach map out/ --certify 40 --cross-entropy 6

A run that was stopped continues where it was when the same command is given
again. Files: rows.parquet, summary.json, summary.md, plan.json
and figure_1.svg to figure_4.svg (the fourth with --cross-entropy).
"""


def add_parser(commands):
    """Add `map` to the subcommands; parsed arguments carry ``run(args)``."""
    parser = commands.add_parser(
        "map",
        help="measure the attention rows of a whole model",
        description="Every layer, head and budget: what the best kept set would gain, "
        "what each rule loses, and the published tables beside the result.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "out",
        type=Path,
        metavar="OUT",
        help="folder of the map; new, empty or to be continued",
    )
    add("--model", metavar="ID", help="folder or Hub id; default: the bundled model")
    add("--documents", type=int, default=9, metavar="N", help="texts in all (9)")
    add("--tokens", type=int, default=1024, metavar="T", help="tokens per text (1024)")
    add(
        "--positions",
        type=int,
        default=6,
        metavar="P",
        help="rows per head and text (6)",
    )
    add(
        "--budgets",
        type=int,
        nargs="+",
        metavar="S",
        help="kept keys (4 8 16 32 64 128 256)",
    )
    add("--seed", type=int, default=0, help="of texts and positions (0)")
    add(
        "--jobs", type=int, metavar="J", help="texts at a time, -1 for one per core (1)"
    )
    add(
        "--certify",
        type=int,
        default=0,
        metavar="N",
        help="also prove N rows per budget",
    )
    add(
        "--cross-entropy",
        type=int,
        default=0,
        metavar="N",
        help="also balance cells on N texts that the map has not seen",
    )
    parser.set_defaults(run=run)
    return parser


def run(args):
    """Do what was asked; return the exit code."""
    from kvteach.evaluate.atlas.plan import BUDGETS, PlanError, check_arguments
    from kvteach.models import ModelError

    budgets = tuple(args.budgets or BUDGETS)
    try:
        check_arguments(args.documents, args.tokens, args.positions, budgets, args.seed)
        _check_extras(args, budgets)
    except PlanError as error:
        print(f"kvteach map: {error}", file=sys.stderr)
        return 2
    try:
        _map(args, budgets)
    except (PlanError, ModelError, NotImplementedError) as error:
        print(f"kvteach map: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "kvteach map: interrupted; whole documents are kept, and the same "
            "command continues",
            file=sys.stderr,
        )
        return 130
    print(args.out / "summary.md")
    return 0


def _check_extras(args, budgets):
    """Raise PlanError for the arguments that are no part of the plan."""
    from kvteach.evaluate.atlas.plan import AUDITED, LARGEST_SOLVED, PlanError

    if args.jobs == 0:
        raise PlanError(
            "jobs: 0 is nobody; need a number of processes, or -1 for all cores"
        )
    for name in ("certify", "cross_entropy"):
        if getattr(args, name) < 0:
            raise PlanError(f"{name}: {getattr(args, name)} is negative; need >= 0")
    if args.certify and min(budgets) > LARGEST_SOLVED:
        raise PlanError(f"certify: needs a budget up to {LARGEST_SOLVED}")
    if args.cross_entropy and AUDITED not in budgets:
        raise PlanError(f"cross_entropy: needs budget {AUDITED} among the budgets")
    if args.out.exists() and not args.out.is_dir():
        raise PlanError(f"out: {args.out} is a file; need a folder")


def _map(args, budgets):
    from kvteach.evaluate.atlas import certificates, cross_entropy, summary
    from kvteach.evaluate.atlas.measure import measure_rows
    from kvteach.evaluate.atlas.plan import make_plan
    from kvteach.evaluate.work import load_once, tell
    from kvteach.models import BUNDLED

    loaded = load_once(args.model or BUNDLED)
    plan = make_plan(
        loaded, args.documents, args.tokens, args.positions, budgets, args.seed
    )
    table = measure_rows(args.out, plan, args.jobs)
    tell("summing up")
    found = summary.summarise(table, plan)
    if args.certify:
        proofs = certificates.certify_rows(
            args.out, plan, table, args.certify, args.jobs, tell
        )
        found["table_7"] = certificates.table_7(proofs, table)
    if args.cross_entropy:
        losses = cross_entropy.measure_losses(
            args.out,
            plan,
            loaded.tokenizer,
            found["figure_2"][8],
            args.cross_entropy,
            args.jobs,
            tell,
        )
        found["figure_4"] = cross_entropy.figure_4(losses)
    _write(args.out, plan, found, loaded.model)


def _write(folder, plan, found, model):
    """summary.json, summary.md and the figures."""
    from kvteach.draw import atlas as figures
    from kvteach.evaluate.atlas import report
    from kvteach.shards import Shards, write_whole

    made = Shards(folder, "rows", len(plan.texts)).provenance()
    norms = any(name.endswith("q_norm") for name, _ in model.named_modules())
    whole = {
        "plan": json.loads(plan.to_json()),
        "took": {
            "seconds": sum(entry["seconds"] for entry in made),
            "cpu_seconds": sum(entry["cpu_seconds"] for entry in made),
            "machine": "; ".join(sorted({entry["machine"] for entry in made})),
            "per_document": made,
        },
        "qk_norm": "yes" if norms else "no",
        **found,
    }
    text = json.dumps(whole, indent=1, allow_nan=False)
    write_whole(folder / "summary.json", (text + "\n").encode())
    write_whole(folder / "summary.md", report.render(json.loads(text)).encode())
    figures.save_all(json.loads(text), folder)
