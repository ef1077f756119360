"""Time prefill, compression and decoding on the bundled model, float32, on one thread.

    python benchmarks/compression.py                  # all parts, half an hour or so
    python benchmarks/compression.py prefill decode   # some of them

Parts: ``prefill`` (reading 2,048 tokens and compressing, over a plain prefill),
``decode`` (a token at one fifth of the keys, over transformers' DynamicCache),
``attention`` (ragged decode attention alone at a tenth of 8,192 keys, over SDPA), and
``peer`` (kvpress 0.5.5 on the same machine, in the environment of ``make peer``).
With that environment's Python and PYTHONPATH=. the part ``decode`` is timed over the
older transformers that kvpress needs, whose full cache decodes more slowly.

Times are CPU seconds of this process; what is compared takes turns in one run. Results
are merged into benchmarks/results/compression.json with the machine they came from.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import contextlib
import itertools
import json
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import torch
from transformers import DynamicCache

from kvteach import bundled, corpora, engine, methods, models
from kvteach.caches import store
from kvteach.caches.layer import CompressedLayer

from provenance import machine

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "compression.json"
LENGTH, SHARE = 2048, 0.2
LONG = 8192
ROUNDS, STEPS = 3, 24
PINNED = next(line.split("==")[1].split(";")[0] for line in
              (HERE.parent / "requirements.txt").read_text().splitlines()
              if line.startswith("transformers=="))


def text(tokenizer, length):
    """The first ``length`` tokens of English documents, one after another."""
    read, total = [], 0
    for document in corpora.documents("english")[120:]:
        read.append(document.tokens(tokenizer, min(1024, length - total)))
        total += len(read[-1])
        if total == length:
            return torch.cat(read)


def cpu_seconds(call):
    """CPU seconds of one call, and what it returned."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def prefill(loaded, tokens):
    """Ratio of compress to a plain prefill, each method between plain ones."""

    def plain():
        with torch.no_grad():
            loaded.model.base_model(tokens[None], use_cache=True)

    plain()
    found = {}
    for name in methods.METHODS:
        before, own = [], []
        for _ in range(ROUNDS):
            before.append(cpu_seconds(plain)[0])
            budget = None if name == "full" else SHARE
            seconds, session = cpu_seconds(
                lambda: engine.compress(loaded.model, tokens, name, budget)
            )
            own.append(seconds)
        ratios = [o / b for o, b in zip(own, before)]
        found[name] = {
            "plain_seconds": statistics.median(before),
            "seconds": statistics.median(own),
            "ratio": statistics.median(ratios),
            "ratios": ratios,
            "compressed_over_nominal": session.ledger.overhead,
            "prefill_peak_over_full": session.ledger.prefill_peak / session.ledger.full,
        }
        print(f"prefill {name:16} {found[name]['ratio']:.3f}", flush=True)
    return found


def decode(loaded, tokens, names, batch=1):
    """CPU seconds a token of every method's cache, over DynamicCache's, in turns."""
    ids = tokens.expand(batch, -1)
    runs = {}
    for label, length in (("DynamicCache", len(tokens)), ("DynamicCache, empty", 1)):
        cache = DynamicCache()
        with torch.no_grad():
            loaded.model.base_model(
                ids[:, :length], **{models.cache_argument(loaded.model): cache}
            )
        runs[label] = (cache, contextlib.nullcontext)
    reading = engine.Reading(loaded.model, tokens) if batch == 1 else None
    for name in names:
        budget = None if name == "full" else SHARE
        session = (
            engine.compress(loaded.model, ids, name, budget) if reading is None
            else reading.compress(name, budget)
        )
        session.logits()
        runs[name] = (session.cache, session.attention)
    del reading
    times = {label: [] for label in runs}
    for step, (label, (cache, attention)) in itertools.product(range(STEPS), runs.items()):
        arguments = {models.cache_argument(loaded.model): cache}
        with attention(), torch.no_grad():
            seconds, _ = cpu_seconds(
                lambda: loaded.model(ids[:, step : step + 1], **arguments)
            )
        times[label].append(seconds)
    full = statistics.median(times["DynamicCache"])
    found = {
        label: {"seconds": statistics.median(each), "ratio": statistics.median(each) / full}
        for label, each in times.items()
    }
    for label, each in found.items():
        print(f"decode {len(tokens)} x {batch} {label:20} {each['ratio']:.3f}", flush=True)
    return found


def attention(layers=12, dim=64, heads=9, kv_heads=3, repeats=30):
    """Decode attention alone: SDPA over all keys against ragged over a tenth.

    Calls go through ``layers`` different layers, as a model does, so that keys come
    from memory and not from the processor's cache.
    """
    generator = torch.Generator().manual_seed(7)
    calls = {"SDPA over all keys": [], "SDPA over all keys, a group's heads as rows": [],
             "ragged over a tenth": []}
    for _ in range(layers):
        for name, call in zip(calls, attention_calls(generator, dim, heads, kv_heads)):
            calls[name].append(call)
    times = {name: [] for name in calls}
    for _, (name, each) in itertools.product(range(repeats), calls.items()):
        times[name].append(cpu_seconds(lambda: [call() for call in each])[0] / layers)
    found = {name: statistics.median(each) for name, each in times.items()}
    for name in list(calls)[:2]:
        found[f"speed-up over {name}"] = found[name] / found["ragged over a tenth"]
    print(json.dumps(found, indent=1))
    return found


def attention_calls(generator, dim, heads, kv_heads):
    """One layer's three ways to attend to 8,192 keys or a tenth of them."""
    keys, values = torch.randn(2, 1, kv_heads, LONG, dim, generator=generator)
    query = torch.randn(1, heads, 1, dim, generator=generator)
    kept = torch.zeros(1, kv_heads, LONG, dtype=torch.bool)
    for head, count in enumerate((410, 819, 1228)):  # a tenth on average
        kept[0, head, torch.randperm(LONG, generator=generator)[:count]] = True
    layer = CompressedLayer(store.build("ragged", keys, values, kept), LONG)
    layer.update(keys[:, :, :1], values[:, :, :1])
    sdpa = torch.nn.functional.scaled_dot_product_attention
    rows = query.view(1, kv_heads, -1, dim)
    return (
        lambda: sdpa(query, keys, values, enable_gqa=True),
        lambda: sdpa(rows, keys, values),
        lambda: layer.attend(query, None, dim**-0.5),
    )


def peer(tokens):
    """kvpress in its own environment, timed the same way (see peer_speed.py)."""
    python = HERE.parent / ".venv-peer" / "bin" / "python"
    if not python.exists():
        raise SystemExit("the peer's environment is missing; make it with: make peer")
    done = subprocess.run(
        [str(python), str(HERE / "peer_speed.py")],
        input=json.dumps({"folder": str(bundled.converted_folder()),
                          "tokens": tokens.tolist(), "share": SHARE,
                          "rounds": ROUNDS, "steps": STEPS}),
        text=True, stdout=subprocess.PIPE, check=True,
    )
    return json.loads(done.stdout)


def main():
    """Run the parts that were named, all by default."""
    parts = ("attention", "decode", "prefill", "peer")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=parts)
    chosen = parser.parse_args().parts
    torch.set_num_threads(1)
    loaded = models.load(device="cpu")
    tokens = text(loaded.tokenizer, LONG)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in chosen:
        print(f"--- {part}", file=sys.stderr)
        if part == "attention":
            found = attention()
        elif part == "prefill":
            found = prefill(loaded, tokens[:LENGTH])
        elif part == "peer":
            found = peer(tokens[:LENGTH])
        else:
            few = ("full", "streaming", "snapkv", "adakv", "contourkv")
            found = {
                f"{LENGTH} tokens": decode(loaded, tokens[:LENGTH], methods.METHODS),
                f"{LENGTH} tokens, batch of 4": decode(loaded, tokens[:LENGTH], few, batch=4),
                f"{LONG} tokens": decode(loaded, tokens, methods.METHODS),
            }
        # A run in the peer's environment stands beside ours.
        other = "" if version("transformers") == PINNED else f", transformers {version('transformers')}"
        results[part + other] = {"machine": machine(
            "numpy", "torch", "transformers", dtype="float32", model=bundled.identity()),
            **found}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
