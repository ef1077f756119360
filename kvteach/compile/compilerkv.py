"""`kvteach compile compilerkv`: calibration records of a model, then its tables.

Can be killed and called again: prompts that have their records are not read twice.
"""

import sys
import time

import torch

from kvteach import corpora, models
from kvteach.compile import records
from kvteach.shards import PlanError, Shards, open_folder

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def run(args):
    """Measure what is missing, then fit. Returns the exit code."""
    try:
        loaded = models.load(args.model, dtype=DTYPES.get(args.dtype))
        plan, texts = records.make_plan(
            loaded, args.prompts, args.tokens, seed=args.seed
        )
        open_folder(args.out, plan, "calibration")
    except PlanError as error:
        print(error, file=sys.stderr)
        return 2
    except (models.ModelError, corpora.CorpusError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    shards = Shards(args.out, "records", plan.prompts)
    measure(loaded.model, plan, texts, shards)
    return _fit(args, loaded, plan, shards)


def measure(model, plan, texts, shards):
    """Write the records of every prompt that has none, telling how long it takes."""
    missing = shards.missing()
    if len(missing) < plan.prompts:
        print(f"{plan.prompts - len(missing)} of {plan.prompts} prompts are there already")
    began = time.perf_counter()
    for done, index in enumerate(missing, 1):
        table, words = records.measure(model, plan, index, texts[index])
        shards.write(index, table, {"torch": torch.__version__})
        spent = time.perf_counter() - began
        left = spent / done * (len(missing) - done) / 60
        print(f"prompt {index + 1} of {plan.prompts}: {words}; {left:.0f} min left", flush=True)


def _fit(args, loaded, plan, shards):
    """Tables from all records, and how well the records support them."""
    from kvteach.compile import policy

    tables, report = policy.fit(policy.Records.of(shards.merge()), plan)
    name = loaded.name.rstrip("/").split("/")[-1]
    path = args.out / f"compilerkv-{name}.safetensors"
    tables.write(path)
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB\n{report}")
    return 0
