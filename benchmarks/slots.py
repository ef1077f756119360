"""What one slot for the evicted keys is worth to later queries, beside one more key.

    python benchmarks/slots.py             # about nine minutes of one core
    python benchmarks/slots.py rows        # the outputs of heads only
    python benchmarks/slots.py nats        # what the model makes of them only

Real attention of the bundled model on six English and six code documents. The first
512, 1,024 or 2,048 tokens are the prompt. Keys are chosen by SnapKV's score from the last
min(32, B / 2) rows, slots are built from the last 32. Judged are the next 128 tokens'
queries, which nothing has seen, over what is held and all keys that came after the
prompt; every layer, every KV head. At matched bytes: B keys, or B - M keys and M slots.
An error is the distance between the output and the dense one, averaged over a head's
rows, and relative where heads are averaged: over the mean length of its dense outputs.

"oracle" slots are told every query's true mass of the tail. The numbers of `TangentSlot`
were chosen on other documents. Intervals resample documents. Recorded besides: the lift,
window and number of slots around the default; how often a repair by single keys leaves
CertKV's division short of the optimum.

"nats" runs whole models: every document's prompt is compressed by the methods named
below and the 128 tokens that follow are read; the loss a token, over that of SnapKV's
keys alone. Results are merged into benchmarks/results/slots.json.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import argparse
import dataclasses
import hashlib
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from kvteach import bundled, capture, corpora, methods, models
from kvteach.budgets.dispersion import Dispersion, as_table, cost_curve
from kvteach.budgets.multiplier import cost_of, divide
from kvteach.budgets.uniform import Uniform
from kvteach.compensate.fitted_slot import FittedSlot
from kvteach.compensate.tail_slot import TailSlot
from kvteach.compensate.tangent_slot import TangentSlot
from kvteach.engine import Reading
from kvteach.rows import statistics
from kvteach.scores.layer import Layer
from kvteach.scores.snapkv import SnapKV

from provenance import machine

RESULTS = Path(__file__).parent / "results" / "slots.json"
PLACES = {"english": (60, 80, 100, 150, 180, 230), "code": (13, 55, 70, 90, 115, 145)}
LENGTHS = (512, 1024, 2048)
BUDGETS = (16, 32, 64, 128)
RECORDED, AFTER, QUARTERS = 128, 128, 4
AROUND = 64  # the budget at which the default's neighbours are tried
SEED, RESAMPLES = 6, 1000

RULES = {
    "published": TailSlot(),
    "published, entropy bias": TailSlot(bias="entropy"),
    "safe: plain means, log count": TailSlot("alike", "count"),
    "ridge fit": FittedSlot(),
    "tangent, safe (lift 0)": TangentSlot(lift=0.0),
    "tangent, lift 1/2": TangentSlot(lift=0.5),
    "tangent": TangentSlot(),
    "2 tangents": TangentSlot(slots=2),
    "4 tangents": TangentSlot(slots=4),
}
NEIGHBOURS = {
    "lift 1": TangentSlot(lift=1.0),
    **{f"{rows} rows": TangentSlot(window=rows) for rows in (16, 64, 128)},
    "8 slots": TangentSlot(slots=8),
}
DIVIDED = {
    "uniform, keys only": (Uniform(), None),
    "dispersion, keys only": (Dispersion(), None),
    "CertKV: dispersion, published slot": (Dispersion(), TailSlot()),
    "dispersion, tangent": (Dispersion(), TangentSlot()),
    "uniform, tangent": (Uniform(), TangentSlot()),
}


METHODS = {
    "keys only": "snapkv:window=32,kernel=7,pooling=max",
    "published slot": "published",
    "CertKV": "certkv",
    "CertKV, entropy bias": "certkv:bias=entropy",
    "tangent, lift 1/2": "tangent:lift=0.5",
    "tangent": "tangent",
    "4 tangents": "tangent:slots=4",
    "full cache": "full",
}
KEYS = (48, 96)


def documents(tokenizer):
    """(name, corpus, length, tokens), the next document that is long enough."""
    for corpus, places in PLACES.items():
        listed = corpora.documents(corpus)
        for i, place in enumerate(places):
            length = LENGTHS[i % len(LENGTHS)]
            total = length + AFTER
            found = next(d for d in listed[place:] if d.holds(tokenizer, total))
            yield found.name, corpus, length, found.tokens(tokenizer, total)


class Judge:
    """One layer of one document: its prompt for the rules, its later queries as judges."""

    def __init__(self, rows, length):
        kv_heads, _, dim = rows.keys_ksd.shape
        self.length = length
        self.prompt = Layer(
            rows.layer, rows.queries_hnd[:, :RECORDED], rows.keys_ksd[:, :length],
            rows.values_ksd[:, :length], rows.scaling,
        )
        later = rows.queries_hnd[:, RECORDED:].double() * rows.scaling
        self.queries = later.reshape(kv_heads, -1, dim)
        self.keys, self.values = rows.keys_ksd.double(), rows.values_ksd.double()
        logits = self.queries @ self.keys.mT
        future = torch.ones(AFTER, AFTER, dtype=torch.bool).triu(1)
        logits[..., length:].masked_fill_(future.repeat(rows.group_size, 1), -torch.inf)
        self.new = logits[..., length:]
        self.log_mass = logits.logsumexp(2)
        self.dense = logits.softmax(2) @ self.values
        self.size_k = self.dense.norm(dim=2).mean(1)

    def held(self, kept_ks):
        """Logits [K, X, M] and values [K, M, D] of the kept keys and the new ones."""
        count = int(kept_ks.sum(1).max())
        index = kept_ks.int().topk(count, dim=1).indices[..., None].expand(-1, -1, 64)
        padding = ~kept_ks.gather(1, index[..., 0])
        logits = self.queries @ self.keys.gather(1, index).mT
        logits = logits.masked_fill(padding[:, None], -torch.inf)
        values = self.values.gather(1, index)
        return (torch.cat([logits, self.new], 2),
                torch.cat([values, self.values[:, self.length :]], 1))

    def errors(self, kept_ks, slots=None):
        """Distances to the dense output, [K, X]. slots: logits and values, or None."""
        logits, values = self.held(kept_ks)
        if slots is not None:
            logits = torch.cat([logits, slots[0]], 2)
            values = torch.cat([values, slots[1]], 1)
        return (logits.softmax(2) @ values - self.dense).norm(dim=2)

    def with_rule(self, rule, kept_ks, score_ks):
        """Errors with what the rule puts in place of the evicted keys."""
        if rule is None:
            return self.errors(kept_ks)
        rest = rule(self.prompt, kept_ks, score_ks)
        return self.errors(kept_ks, rest.slots(self.queries, None))

    def with_oracle(self, kept_ks, values_k1d):
        """Errors of a slot with this value and every query's true mass."""
        kept_mass = self.held(kept_ks)[0].logsumexp(2)
        tail = self.log_mass + torch.log1p(-(kept_mass - self.log_mass).exp().clamp_max(1))
        return self.errors(kept_ks, (tail[..., None], values_k1d))


def judged(judge, budget):
    """(rule, errors [K, X]) of all rules at one budget."""
    score = SnapKV(window=min(32, budget // 2))(judge.prompt)

    def kept(rule, entries):
        values = [judge.prompt.values_ksd] if isinstance(rule, Dispersion) else []
        return rule([score], entries, [0], 1, *([values] if values else []))[0]

    yield "keys only", judge.errors(kept(Uniform(), budget))
    rules = RULES if budget != AROUND else RULES | NEIGHBOURS
    for name, rule in rules.items():
        held = kept(Uniform(), budget - rule.charge(64))
        yield name, judge.with_rule(rule, held, score)
    held = kept(Uniform(), budget - 1)
    for name, rule in (("oracle mass, plain mean", TailSlot("alike")),
                       ("oracle mass, tangent's value", TangentSlot())):
        value = rule(judge.prompt, held, score).values_bkmd[0].double()
        yield name, judge.with_oracle(held, value)
    for name, (division, rule) in DIVIDED.items():
        spent = 0 if rule is None else rule.charge(64)
        yield "/" + name, judge.with_rule(rule, kept(division, budget - spent), score)


def repairs(judge, budget):
    """Relative excess of the repaired division over the optimal one."""
    score = SnapKV(window=min(32, budget // 2))(judge.prompt)
    table = as_table([cost_curve(*pair) for pair in zip(score, judge.prompt.values_ksd)])
    free = int(3 * budget - score.isposinf().sum())
    best = cost_of(table, divide(table, free))
    return cost_of(table, divide(table, free, refine=False)) / best - 1 if best else 0.0


def measure(loaded):
    """Errors by (budget, rule): [documents, L, K, quarters], and what else is recorded."""
    cells, sizes, excess, sources = defaultdict(list), [], defaultdict(list), []
    for name, corpus, length, tokens in documents(loaded.tokenizer):
        began = time.process_time()
        rows = capture.rows(loaded.model, tokens,
                            positions=range(length - RECORDED, length + AFTER))
        of_document = defaultdict(list)
        size = []
        for layer in rows.layers.values():
            judge = Judge(layer, length)
            size.append(judge.size_k)
            for budget in BUDGETS:
                excess[budget].append(repairs(judge, budget))
                for rule, error_kx in judged(judge, budget):
                    by_lag = error_kx.view(len(error_kx), -1, QUARTERS, AFTER // QUARTERS)
                    of_document[budget, rule].append(by_lag.mean((1, 3)))
        for key, layers in of_document.items():
            cells[key].append(torch.stack(layers).numpy())
        sizes.append(torch.stack(size).numpy())
        digest = hashlib.sha256(tokens.numpy().tobytes()).hexdigest()[:16]
        sources.append({"name": name, "corpus": corpus, "prompt": length, "sha256": digest})
        print(f"{corpus} {name} {length}: {time.process_time() - began:.0f} s", flush=True)
    return {key: np.stack(each) for key, each in cells.items()}, np.stack(sizes), excess, sources


def interval(statistic, *arrays):
    """[estimate, low, high] of a statistic of arrays [documents, ...], resampling them."""
    indices = np.arange(len(arrays[0]))
    found = statistics.bootstrap_documents(
        indices, indices, np.random.default_rng(SEED), resamples=RESAMPLES,
        statistic=lambda drawn: statistic(*(a[drawn.astype(int)] for a in arrays)),
    )
    return [round(float(x), 4) for x in found]


def summary(error, base, size):
    """What one rule did against ``base``, arrays [documents, L, K, quarters]."""
    mean, over = error.mean(-1), base.mean(-1)
    return {
        "median_ratio": interval(lambda a, b: np.median(a / b), mean, over),
        "ratio_of_means": interval(
            lambda a, b, n: (a / n).mean() / (b / n).mean(), mean, over, size),
        "heads_better": interval(lambda a, b: (a < b).mean(), mean, over),
        "relative_error": interval(lambda a, n: (a / n).mean(), mean, size),
        "by_lag": [round(float(np.median(error[..., i] / base[..., i])), 4)
                   for i in range(QUARTERS)],
        "by_layer": np.median(mean / over, axis=(0, 2)).round(4).tolist(),
        "by_document": np.median(mean / over, axis=(1, 2)).round(4).tolist(),
    }


def nats(loaded):
    """Loss a token after compression, over SnapKV's, by method and budget."""
    tangent = methods.get("tangent")
    published = dataclasses.replace(tangent, name="published slot", compensate=TailSlot())
    losses = defaultdict(list)
    for name, corpus, length, tokens in documents(loaded.tokenizer):
        reading = Reading(loaded.model, tokens[:length])
        later = tokens[length:]
        for label, method in METHODS.items():
            method = published if method == "published" else method
            for keys in KEYS if label != "full cache" else KEYS[:1]:
                budget = None if label == "full cache" else keys
                logits = reading.compress(method, budget).logits(later)[0, :-1]
                loss = torch.nn.functional.cross_entropy(logits, later).item()
                losses[label, keys].append(loss)
        print(f"{corpus} {name} {length}: read", flush=True)
    found = defaultdict(dict)
    for (label, keys), each in losses.items():
        base = losses["keys only", keys]
        found[label][keys] = {
            "nats": round(float(np.mean(each)), 4),
            "more_than_keys": interval(
                lambda a, b: (a - b).mean(), np.array(each), np.array(base)),
        }
    return {"nats": found}


def rows_part(loaded):
    """Outputs of heads: everything but the losses."""
    with torch.no_grad():
        cells, sizes, excess, sources = measure(loaded)
    found = {"rules": defaultdict(dict), "neighbours": {}, "divided": defaultdict(dict)}
    for (budget, rule), error in cells.items():
        base = cells[budget, "keys only"]
        if rule in NEIGHBOURS:
            found["neighbours"][rule] = summary(error, base, sizes)
        elif rule.startswith("/"):
            found["divided"][rule[1:]][budget] = summary(error, base, sizes)
        else:
            found["rules"][rule][budget] = summary(error, base, sizes)
    every = np.concatenate([excess[budget] for budget in BUDGETS])
    found["repair"] = {
        "divisions": len(every), "not_optimal": float((every > 1e-9).mean()),
        "largest_excess": float(every.max()),
        "excess_where_not_optimal": float(np.median(every[every > 1e-9])),
    }
    return {**found, "documents": sources}


def main():
    """Measure what was asked for, all by default; merge it into the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {"rows": rows_part, "nats": nats}
    parser.add_argument("parts", nargs="*", choices=[*parts, []])
    torch.set_num_threads(1)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    loaded = models.load(device="cpu", dtype=torch.float32)
    for part in parser.parse_args().parts or parts:
        began = time.process_time()
        results |= parts[part](loaded)
        results.setdefault("made", {})[part] = made(round(time.process_time() - began))
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def made(seconds):
    """Where and how a part was measured."""
    return machine(
        "torch", "transformers", "numpy", model=bundled.identity(), dtype="float32",
        cpu_seconds=seconds, seed=SEED, resamples=RESAMPLES, around=AROUND,
    )


if __name__ == "__main__":
    main()
