"""``python -m kvteach.evaluate.tasks``: the full cache's score on every task.

Prints a table; ``--write`` merges it into full_cache.json, which decides what is
offered. Run it again with another ``--seed`` to see how much a score moves.
"""

import argparse
import json
from importlib import resources

import torch
import transformers

from kvteach import engine, models
from kvteach.evaluate.metrics import ask
from kvteach.evaluate.tasks.registry import TASKS, FullCache, measurements
from kvteach.rows.statistics import wilson_upper


def main(argv=None):
    """Measure the tasks and lengths that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m kvteach.evaluate.tasks")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--lengths", nargs="+", type=int, default=[512, 1024, 2048])
    parser.add_argument("--contexts", type=int, default=8, help="documents a cell")
    parser.add_argument(
        "--questions", type=int, default=None, help="at most, a document"
    )
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--model", help="a folder or Hub id instead of the bundled model"
    )
    parser.add_argument(
        "--write", action="store_true", help="keep it in full_cache.json"
    )
    arguments = parser.parse_args(argv)
    if arguments.write and arguments.model:
        parser.error("--write: full_cache.json is about the bundled model")
    loaded = models.load(arguments.model, dtype=getattr(torch, arguments.dtype))
    print("task               length  exact  95%         tokens    nll    n")
    for name in arguments.tasks:
        for length in arguments.lengths:
            score = measure(loaded, TASKS[name], length, arguments)
            low, high = _wilson(score.exact, score.questions)
            print(
                f"{name:18}{length:7}{score.exact:7.2f}  {low:.2f}-{high:.2f}  "
                f"{score.tokens:7.3f}{score.nll:7.3f}{score.questions:5}",
                flush=True,
            )
            if arguments.write:
                _keep(name, length, score, loaded, arguments)


def measure(loaded, task, length, arguments):
    """`FullCache` of one task at one length; each document is read once."""
    generator = torch.Generator().manual_seed(arguments.seed)
    examples = task.examples(loaded.tokenizer, length, arguments.contexts, generator)
    answers = []
    for example in examples:
        session = engine.compress(loaded.model, example.document, "full")
        for question in example.questions[: arguments.questions]:
            answers.append(ask(session, question.tokens, question.answer))
    count = len(answers)
    return FullCache(
        *(
            sum(getattr(a, what) for a in answers) / count
            for what in ("exact", "tokens", "loss")
        ),
        questions=count,
        contexts=len(examples),
    )


def _wilson(share, n):
    """Both ends of the Wilson interval, as if questions were independent."""
    right = round(share * n)
    return 1 - wilson_upper(n - right, n), wilson_upper(right, n)


def _keep(name, length, score, loaded, arguments):
    file = resources.files("kvteach.evaluate.tasks") / "full_cache.json"
    measurements.cache_clear()
    kept = measurements()
    entry = {k: round(v, 4) for k, v in score._asdict().items()}
    kept["scores"].setdefault(name, {})[str(length)] = entry
    kept["made"] = {
        "model": loaded.identity,
        "dtype": arguments.dtype,
        "seed": arguments.seed,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "command": "python -m kvteach.evaluate.tasks --write",
    }
    file.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
