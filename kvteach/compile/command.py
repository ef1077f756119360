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
    "core": ("core",),
    "compilerkv": ("compilerkv",),
}
SHORTEST = {"core": 512}
"""Tokens that a text must have at least, where 64 are not enough."""


def add_parser(commands):
    """Add `compile` to the subcommands; parsed arguments carry ``run(args)``."""
    parser = commands.add_parser(
        "compile",
        help="fit learned scores or measure head importance, once a model",
        description="FastKVzip gates, KVzap networks, HeadKV's head importance, "
        "CORE's indexer and memory or CompilerKV's tables of a model, from real text; "
        "minutes on a CPU for the bundled model, but for compilerkv.",
    )
    add = parser.add_argument
    add("what", choices=WHAT, help="what to make")
    add("out", type=Path, metavar="OUT", help="folder that the files are put in")
    add("--model", metavar="ID", help="folder or Hub id; default: the bundled model")
    add("--documents", type=int, default=40, metavar="N", help="texts (40)")
    add("--tokens", type=int, default=1024, metavar="T", help="tokens per text (1024)")
    add("--prompts", type=int, default=232, metavar="N",
        help="calibration prompts of compilerkv (232); multiples of 116 log evenly")
    add("--dtype", choices=("float32", "bfloat16"),
        help="of the model while compilerkv measures; default: as it is loaded")
    add("--seed", type=int, default=0, help="of texts, keys and training (0)")
    parser.set_defaults(run=run)
    return parser


def run(args):
    """Make what was asked for. Returns the exit code."""
    if args.what == "compilerkv":
        from kvteach.compile import compilerkv

        return compilerkv.run(args)

    import torch

    from kvteach import corpora, models
    from kvteach.compile import texts

    shortest = SHORTEST.get(args.what, 64)
    if args.documents < 2 or args.tokens < shortest:
        print(f"need at least 2 documents of {shortest} tokens", file=sys.stderr)
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
    make = {"heads": _heads, "core": _core}.get(args.what, _gates)
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


def _core(args, loaded, documents, generator, about, name):
    """The indexer, then the memory of what it evicts, in one file."""
    from kvteach.compile import core
    from kvteach.compile.indexer import RATIOS

    began = time.perf_counter()
    held_out = max(1, args.documents // 5)
    both, report = core.fit(loaded.model, documents, held_out, generator, about)
    path = args.out / f"core-{name}.safetensors"
    both.write(path)
    print(
        f"{path}: fitted in {time.perf_counter() - began:.0f} s; on {held_out} other "
        f"texts, KL to the teacher {report.kl:.3f}, of equal scores "
        f"{report.uniform:.3f}; {path.stat().st_size / 1e3:.0f} kB"
    )
    print("evicted   kept as the teacher does   by utility   by chance")
    for row in zip(RATIOS, report.overlap, report.by_utility, report.by_chance):
        print("{:7.0%}   {:26.3f}   {:10.3f}   {:9.3f}".format(*row))
