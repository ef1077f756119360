"""Time the exact solvers on real rows of the bundled model, on one thread.

    python benchmarks/exact_subsets.py                 # all parts, 15 minutes or so
    python benchmarks/exact_subsets.py speed certify   # some of them

Parts: ``speed`` (both engines against itertools and NumPy), ``published`` (the
published number of instances with the published pools), ``certify`` (proofs
over all keys). Times are CPU seconds of this process. Results are merged into
benchmarks/results/exact_subsets.json with the machine they came from.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import itertools
import json
import math
import signal
import time
from pathlib import Path

import numpy as np
import torch

from kvteach import capture, corpora, models
from kvteach.rows import branch, certify, exact

from provenance import machine

RESULTS = Path(__file__).parent / "results" / "exact_subsets.json"
SIZES = (4, 8, 16, 32)
LENGTHS = (512, 1024, 2048)
PUBLISHED_ROWS = 42_048
CAP = 2.0  # CPU seconds for a pool of 64, where few rows take long


def long_documents(corpus):
    """Every twelfth document with 16 kB or more, surely 2,048 tokens."""
    found = [d for d in corpora.documents(corpus) if d.path.stat().st_size >= 16_384]
    return found[::12]


def captures(count, positions, rng):
    """``count`` captured documents, English and code in turn, lengths cycling."""
    loaded = models.load()
    texts = zip(*(long_documents(name) for name in ("english", "code")))
    documents = itertools.islice(itertools.chain.from_iterable(texts), count)
    for number, document in enumerate(documents):
        length = LENGTHS[number // 2 % len(LENGTHS)]
        tokens = document.tokens(loaded.tokenizer, length)
        chosen = rng.choice(np.arange(length // 2, length), positions, replace=False)
        yield capture.rows(loaded.model, tokens, positions=chosen)


def sampled_rows(documents, per_document, rng):
    """Random (p, v) over layers, heads and positions."""
    rows = []
    for captured in captures(documents, 8, rng):
        layers = list(captured.layers.values())
        for _ in range(per_document):
            layer = layers[rng.integers(len(layers))]
            head = rng.integers(layer.queries_hnd.shape[0])
            row = layer.row(int(head), int(rng.integers(8)))
            rows.append((row.p.numpy(), row.v.numpy()))
    return rows


def cpu(call, repeats=3):
    """Least CPU seconds of a few calls."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def capped(call):
    """CPU seconds of ``call``, CAP if it is not done by then."""

    def give_up(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, CAP)
    try:
        return cpu(call)
    except TimeoutError:
        return CAP
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def naive(p, v, pool, size, limit):
    """The definition, subset by subset; stops after ``limit`` subsets."""
    mu, least = p @ v, math.inf
    for members in itertools.islice(itertools.combinations(pool, size), limit):
        a = list(members)
        least = min(least, np.linalg.norm(mu - p[a] @ v[a] / p[a].sum()))
    return least


def search_alone(p, v, pool, size):
    """The search once mu, the deviations and the checks of arguments are done."""
    gamma, noise = exact._pool_deviations(p, v, np.sort(pool), None)
    scale = np.linalg.norm(gamma, axis=1).max()
    weights = p[np.sort(pool)] / scale
    first = np.sort(np.argsort(-weights, kind="stable")[:size])
    return lambda: exact._by_bounds(gamma / scale, weights, size, 0.0, noise, first)


def heaviest(p, count):
    return np.argsort(-p, kind="stable")[:count]


def speed(rng):
    rows = sampled_rows(6, 25, rng)
    result = {}
    for keys, size in ((24, 8), (28, 14)):
        p, v = rows[0]
        limit, total = 50_000, math.comb(keys, size)
        per_subset = cpu(lambda: naive(p, v, heaviest(p, keys).tolist(), size, limit)) / limit
        part = {"subsets": total, "naive_seconds": per_subset * total, "naive_timed_subsets": limit}
        for engine in exact.ENGINES:
            chosen = rows if engine == "bounds" else rows[:30]
            exact.best_subset(p, v, size, heaviest(p, keys), engine=engine)
            pools = [heaviest(p, keys) for p, _ in chosen]
            seconds = [
                cpu(lambda: exact.best_subset(p, v, size, pool, engine=engine))
                for (p, v), pool in zip(chosen, pools)
            ]
            part[engine] = summary(seconds) | {
                "times_naive": part["naive_seconds"] / float(np.median(seconds))
            }
        seconds = [cpu(search_alone(p, v, heaviest(p, keys), size)) for p, v in rows]
        part["bounds, search alone"] = summary(seconds) | {
            "times_naive": part["naive_seconds"] / float(np.median(seconds))
        }
        result[f"pool {keys}, size {size}"] = part
    for size in SIZES:
        pools = [heaviest(p, 64) for p, _ in rows]
        seconds = [
            capped(lambda: exact.best_subset(p, v, size, pool))
            for (p, v), pool in zip(rows, pools)
        ]
        part = {"cap_seconds": CAP, "solved": float(np.mean([s < CAP for s in seconds]))}
        alone = [capped(search_alone(p, v, heaviest(p, 64), size)) for p, v in rows]
        result[f"pool 64, size {size}"] = {
            "bounds": summary(seconds) | part,
            "bounds, search alone": summary(alone) | part,
        }
    seconds, nodes = [], []
    for p, v in rows:
        pool = heaviest(p, 24)
        gamma = p[pool, None] * (v[pool] - p @ v)
        seconds.append(cpu(lambda: branch.branch_and_bound(gamma, p[pool], 8), 1))
        nodes.append(branch.branch_and_bound(gamma, p[pool], 8)[2])
    result["pool 24, size 8"]["NumPy bounds"] = summary(seconds) | {
        "median_nodes": float(np.median(nodes))
    }
    return result


def published(rng):
    """42,048 rows at four budgets; pools and solving count, capturing does not."""
    seconds, solved = dict.fromkeys(SIZES, 0.0), 0
    rows = 0
    for captured in captures(20, 8, rng):
        for layer in captured.layers.values():
            for head in range(layer.queries_hnd.shape[0]):
                weights = layer.weights(head).numpy()
                values = layer.values_ksd[layer.kv_head(head)].double().numpy()
                for index in range(len(layer.positions)):
                    if rows == PUBLISHED_ROWS:
                        break
                    seen = layer.visible_ns[index].numpy()
                    p, v = weights[index, seen], values[seen]
                    rows += 1
                    for size in SIZES:
                        began = time.process_time()
                        exact.best_subset(p, v, size, exact.published_pool(p, v, size))
                        seconds[size] += time.process_time() - began
                        solved += 1
        print(f"published: {rows} rows, {sum(seconds.values()):.0f} s", flush=True)
    return {"rows": rows, "instances": solved, "cpu_seconds": sum(seconds.values())} | {
        f"cpu_seconds at size {size}": seconds[size] for size in SIZES
    }


def certified(rng, count=204, limit=10.0):
    rows = sampled_rows(12, count // 12, rng)
    certify.certify(*rows[0], 4, time_limit=1)  # compile
    result = {"rows": len(rows), "keys": [len(p) for p, _ in rows], "gap": 0.01}
    for floor, limit in ((0.9, 1.0), (None, limit)):
        for size in SIZES:
            seconds, proved, ratio = [], [], []
            for p, v in rows:
                began = time.process_time()
                found = certify.certify(p, v, size, floor, time_limit=limit)
                seconds.append(time.process_time() - began)
                proved.append(found.proved)
                ratio.append(found.lower / found.upper if found.upper > 0 else 1.0)
            name = f"floor {floor}, size {size}, {limit:g} s"
            result[name] = summary(seconds) | {
                "proved": float(np.mean(proved)),
                "lower / upper of the others": sorted(
                    round(r, 3) for r, ok in zip(ratio, proved) if not ok
                ),
            }
            print(name, result[name]["proved"], flush=True)
    return result


def summary(seconds):
    at = np.quantile(seconds, [0.5, 0.9, 0.99])
    return {
        "rows": len(seconds),
        "median_seconds": at[0],
        "p90_seconds": at[1],
        "p99_seconds": at[2],
        "mean_seconds": float(np.mean(seconds)),
    }


PARTS = {"speed": speed, "published": published, "certify": certified}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    chosen = parser.parse_args().parts or list(PARTS)
    unknown = set(chosen) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {sorted(unknown)}; there are {list(PARTS)}")
    torch.set_num_threads(1)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in chosen:
        part = PARTS[name](np.random.default_rng(0))
        results[name] = {"machine": machine("numpy", "torch", "numba", "transformers"), **part}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(name, "done", flush=True)


if __name__ == "__main__":
    main()
