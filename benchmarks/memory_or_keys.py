"""What CORE's memory is worth to later queries, beside as many bytes of real keys.

    python benchmarks/memory_or_keys.py      # about three minutes of one core

Attention of the bundled model on speeches of 1900 to 1949, to which neither student nor
memory was fitted. All but the last 64 tokens are the prompt; the shipped student chooses
the keys of each layer once; judged are the outputs of the last 64 queries, all heads. At
matched bytes: B keys, or B less the memory's charge and no memory, the published memory, or
the one whose gate knows the evicted share. An error is the sum of squared distances to the
dense outputs over the sum of squared dense outputs, of a layer; layers weigh the same.
Intervals resample speeches. Results: benchmarks/results/memory_or_keys.json.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import json
import platform
import time
from importlib.metadata import version
from pathlib import Path

import torch

from kvteach import corpora, methods, models
from kvteach.compile import memory
from kvteach.compile.texts import EVALUATED
from kvteach.evaluate.atlas import intervals

RESULTS = Path(__file__).parent / "results" / "memory_or_keys.json"
LATER = 64
LENGTHS = {720: 10, 1984: 5}  # prompt tokens: speeches
SHARES = (0.75, 0.5, 0.25, 0.1, 0.05)


def speeches(tokenizer, tokens, count):
    """Token ids of ``count`` speeches, spread over the years that nothing was fitted to."""
    found = [d for d in corpora.documents("english") if int(d.name[:4]) in EVALUATED]
    found = [d for d in found if d.holds(tokenizer, tokens)]
    step = len(found) / count
    return [found[int(i * step)].tokens(tokenizer, tokens) for i in range(count)]


def summarised(errors, sizes):
    """For each share and choice: error, and logarithm of its ratio to real keys'."""
    relative = (errors / sizes[:, None, :, None]).mean(2)  # [N, shares, choices]
    ratio = (errors / errors[..., :1]).log().mean(2)
    rows = []
    for s, share in enumerate(SHARES):
        for c, choice in enumerate(memory.CHOICES):
            label = range(len(errors))
            rows.append({
                "share": share,
                "choice": choice,
                "error": intervals.mean(relative[:, s, c].tolist(), label),
                "log_ratio_to_keys": intervals.mean(ratio[:, s, c].tolist(), label),
            })
    return rows


def main():
    torch.set_num_threads(1)
    began = time.process_time()
    loaded = models.load(device="cpu")
    core = methods.get("core")
    weights = core.compensate.weights
    results = []
    for prompt, count in LENGTHS.items():
        texts = speeches(loaded.tokenizer, prompt + LATER, count)
        errors, sizes = memory.judge(
            loaded.model, texts, core.score, weights, LATER, SHARES
        )
        results.append({
            "prompt": prompt, "speeches": count, "rows": summarised(errors, sizes),
        })
    RESULTS.write_text(json.dumps({
        "model": loaded.identity,
        "weights": {k: weights.about[k] for k in ("documents", "tokens", "seed")},
        "charge": core.compensate.charge(64),
        "later": LATER,
        "results": results,
        "took": {
            "cpu_seconds": round(time.process_time() - began),
            "machine": f"{platform.machine()}, Python {platform.python_version()}, "
                       f"torch {version('torch')}",
        },
    }, indent=1) + "\n")


if __name__ == "__main__":
    main()
