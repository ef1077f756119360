"""`kvteach compile`: fit what is fitted once a model, and write it down.

Ends 0 when the file is written, 1 when something on this machine stands in the way,
2 when it was asked for in a wrong way.
"""

import sys
import time
from dataclasses import asdict
from pathlib import Path

WHAT = {
    "fastkvzip": ("fastkvzip",),
    "kvzap": ("kvzap-linear", "kvzap-mlp"),
    "heads": ("heads",),
}


def add_parser(commands):
    """Add `compile` to the subcommands; parsed arguments carry ``run(args)``."""
    parser = commands.add_parser(
        "compile",
        help="fit learned scores or measure head importance, once a model",
        description="FastKVzip gates, KVzap networks or HeadKV's head importance of a "
        "model, from real text; minutes on a CPU for the bundled model.",
    )
    add = parser.add_argument
    add("what", choices=WHAT, help="what to make")
    add("out", type=Path, metavar="OUT", help="folder that the files are put in")
    add("--model", metavar="ID", help="folder or Hub id; default: the bundled model")
    add("--documents", type=int, default=40, metavar="N", help="texts (40)")
    add("--tokens", type=int, default=1024, metavar="T", help="tokens per text (1024)")
    add("--seed", type=int, default=0, help="of texts, keys and training (0)")
    parser.set_defaults(run=run)
    return parser


def run(args):
    """Make what was asked for. Returns the exit code."""
    import torch

    from kvteach import corpora, models
    from kvteach.compile import texts

    if args.documents < 2 or args.tokens < 64:
        print("need at least 2 documents of 64 tokens", file=sys.stderr)
        return 2
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        loaded = models.load(args.model)
        generator = torch.Generator().manual_seed(args.seed)
        documents, sources = texts.choose(
            loaded.tokenizer, args.documents, args.tokens, generator
        )
    except (models.ModelError, corpora.CorpusError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    about = {
        "model": loaded.identity,
        "corpus": sources,
        "documents": args.documents,
        "tokens": args.tokens,
        "seed": args.seed,
        "torch": torch.__version__,
    }
    name = loaded.name.rstrip("/").split("/")[-1]
    make = _heads if args.what == "heads" else _gates
    make(args, loaded, documents, generator, about, name)
    return 0


def _gates(args, loaded, documents, generator, about, name):
    """Fit every kind of this name from one harvest."""
    from kvteach.compile import gates
    from kvteach.compile.harvest import harvest
    from kvteach.scores.fitted import Fitted

    kinds = WHAT[args.what]
    began = time.perf_counter()
    rule = gates.target_rule(kinds[0])
    keys = 3 * args.tokens // 4
    sampled = harvest(loaded.model, documents, rule, generator, keys)
    held_out = max(1, args.documents // 5)
    train, test = sampled.split(range(len(documents) - held_out, len(documents)))
    print(f"scored {len(documents)} texts in {time.perf_counter() - began:.0f} s")
    for kind in kinds:
        began = time.perf_counter()
        weights, report = gates.fit_harvest(train, test, kind, generator)
        facts = {
            **about,
            "kind": kind,
            "scores": "KVzip+" if rule.plus else "KVzip",
            "keys": keys,
            "held_out": {"documents": held_out, **asdict(report)},
        }
        path = args.out / f"{kind}-{name}.safetensors"
        Fitted(weights.layers, facts).write(path)
        print(
            f"{path}: fitted in {time.perf_counter() - began:.0f} s; on {held_out} "
            f"other texts, rank correlation {report.within:.3f} in a head and "
            f"{report.pooled:.3f} over all; loss {report.loss:.4f}, a constant's "
            f"{report.constant:.4f}; {path.stat().st_size / 1e3:.0f} kB"
        )


def _heads(args, loaded, documents, generator, about, name):
    from kvteach.scores import head_importance

    prompts = head_importance.needles(
        loaded.tokenizer, documents, generator, args.tokens
    )
    importance_lk = head_importance.head_importance(loaded.model, prompts)
    path = args.out / f"heads-{name}.json"
    head_importance.write(path, importance_lk, {**about, "kind": "heads"})
    top = importance_lk.flatten().sort(descending=True).values
    tenth = max(1, len(top) // 10)
    print(f"{path}: the first tenth of the heads carries {top[:tenth].sum():.0%}")
