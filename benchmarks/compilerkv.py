"""CompilerKV on the bundled model: what its tables are worth, agree on, and cost.

    python benchmarks/compilerkv.py               # all parts
    python benchmarks/compilerkv.py agreement     # one of them

Tables are fitted to the records in benchmarks/results/compilerkv_calibration/, or in
--calibration FOLDER, as `kvteach compile compilerkv` leaves it. Parts: ``ablation``
(losses of held-out prompts under each table), ``agreement`` (rank correlation of head
reliability between corpora and between halves, noise of one prompt), ``overhead`` (prefill
and compression of 2,048 tokens over SnapKV's). Results are merged into
benchmarks/results/compilerkv.json.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import dataclasses
import hashlib
import json
import statistics
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch

from kvteach import corpora, engine, methods, models
from kvteach.budgets.risk_gate import RiskGate
from kvteach.compile import policy, records, rollouts, texts
from kvteach.rows.statistics import bootstrap_documents, spearman
from kvteach.scores.stabilised import Stabilised

RESULTS = Path(__file__).parent / "results" / "compilerkv.json"
CALIBRATION = RESULTS.with_name("compilerkv_calibration")
PUBLISHED = {"agreement between corpora": 0.90}
THINNED = 3
"""Rollouts that are left of each prompt's 21 where the log is made uneven."""


def calibration(folder):
    """The plan and the records of a folder."""
    plan = records.Plan.from_json((folder / "plan.json").read_text())
    table = pq.read_table(folder / "records.parquet")
    full = torch.from_numpy(table["full"].to_numpy().copy())
    return plan, policy.Records.of(table), full


def thinned(found, generator):
    """A few random rollouts of every prompt: a log as chance would have made it."""
    chosen = []
    for prompt in found.prompt_n.unique():
        rows = (found.prompt_n == prompt).nonzero()[:, 0]
        chosen.append(rows[torch.randperm(len(rows), generator=generator)[:THINNED]])
    return found.where(torch.cat(chosen))


# --- ablation -------------------------------------------------------------------


def variants(plan, found):
    """name -> (tables, heads?, gate?)."""
    even, _ = policy.fit(found, plan)
    average, _ = policy.fit(found, plan, learner="average")
    few = thinned(found, torch.Generator().manual_seed(1))
    uneven, _ = policy.fit(few, plan)
    uneven_average, _ = policy.fit(few, plan, learner="average")
    return {
        "no tables": (even, False, False),
        "head table": (even, True, False),
        "gate": (even, False, True),
        "both": (even, True, True),
        "both, averaged": (average, True, True),
        "both, uneven log": (uneven, True, True),
        "both, averaged, uneven log": (uneven_average, True, True),
    }


def actions(choice, share, prompt):
    """Weights [L, K] and thresholds [L] of one variant for a prompt."""
    tables, heads, gate = choice
    weights = tables.weights(share)
    thresholds = tables.thresholds(share, prompt.entropy, prompt.perplexity)
    off = torch.full_like(thresholds, -torch.inf)
    return weights if heads else torch.ones_like(weights), thresholds if gate else off


def held_out(loaded, plan, count, seed=1):
    """Prompts that no table has seen: speeches of other years, other code."""
    length = plan.tokens + plan.continuation
    generator = torch.Generator().manual_seed(seed)
    years = [d for d in corpora.documents("english")
             if int(d.name[:4]) in texts.EVALUATED]
    chosen = []
    for name, documents in (("english", years), ("code", corpora.documents("code"))):
        taken = []
        for index in torch.randperm(len(documents), generator=generator).tolist():
            if len(taken) < count // 2 and documents[index].holds(loaded.tokenizer, length):
                ids = documents[index].tokens(loaded.tokenizer, length)
                seen = hashlib.sha256(ids.long().numpy().tobytes()).hexdigest()
                taken += [] if seen in plan.texts else [(name, ids)]
        chosen.append(taken)
    return [each for pair in zip(*chosen) for each in pair]


def ablation(loaded, plan, found, count):
    """Nats a token over the full cache's, of each variant, budget and corpus."""
    named = variants(plan, found)
    rows = []
    for number, (corpus, ids) in enumerate(held_out(loaded, plan, count)):
        prompt = rollouts.read(loaded.model, ids, plan.continuation, plan.window)
        for share in plan.budgets:
            keys = int(share * prompt.length + 1e-9)
            tried = [actions(choice, share, prompt) for choice in named.values()]
            loss, _, kept = rollouts.roll(
                loaded.model, prompt, *(torch.stack(part) for part in zip(*tried)), keys
            )
            held = dict(zip(named, kept.double().mean(1).tolist()))
            lost = dict(zip(named, (loss - prompt.loss).tolist()))
            # The same number of keys as the tables left, without any table.
            same, _, kept = rollouts.roll(
                loaded.model, prompt, *(t[:1] for t in map(torch.stack, zip(*tried))),
                max(1, round(held["both"])),
            )
            name = "no tables, as many keys as both"
            held[name] = kept.double().mean().item()
            lost[name] = same.item() - prompt.loss
            rows += [(number, corpus, share, name, lost[name], held[name]) for name in lost]
        print(f"held-out prompt {number + 1}: {corpus}, {prompt.loss:.3f} nats", flush=True)
    return summarise(rows, plan)


def summarise(rows, plan):
    """Means, and differences to no tables in pairs, with intervals over prompts."""
    found = {}
    for share in plan.budgets:
        for corpus in ("all", *records.CORPORA):
            cell = {}
            for _, other, at, name, lost, held in rows:
                if at == share and corpus in ("all", other):
                    cell.setdefault(name, []).append((lost, held))
            base = np.array(cell["no tables"])[:, 0]
            same = np.array(cell["no tables, as many keys as both"])[:, 0]
            found[f"{share:g} of the keys, {corpus}"] = {
                name: {
                    "loss": interval(np.array(values)[:, 0]),
                    "kept": float(np.array(values)[:, 1].mean() / plan.tokens),
                    "over no tables": interval(np.array(values)[:, 0] - base),
                    "over no tables at as many keys": interval(
                        np.array(values)[:, 0] - same),
                }
                for name, values in cell.items()
            }
    return {"prompts": len({row[0] for row in rows}), "cells": found}


def interval(values):
    """Mean with a 95% percentile bootstrap over prompts."""
    return list(bootstrap_documents(
        values, np.arange(len(values)), np.random.default_rng(0), np.mean, 2000
    ))


# --- agreement -------------------------------------------------------------------


def agreement(plan, found, full):
    """Do two sets of prompts find the same heads reliable?"""
    split = torch.Generator().manual_seed(0)
    corpus = found.corpus_n
    parts = {"between corpora": [(corpus == 0, corpus == 1)], "between halves of all": [],
             "between halves of english": [], "between halves of code": []}
    for _ in range(8):
        for name, pool in (("all", corpus >= 0), ("english", corpus == 0),
                           ("code", corpus == 1)):
            prompts = found.prompt_n[pool].unique()
            order = prompts[torch.randperm(len(prompts), generator=split)]
            first = torch.isin(found.prompt_n, order[: len(order) // 2])
            parts[f"between halves of {name}"].append((first & pool, ~first & pool))
    result = {}
    for name, pairs in parts.items():
        for what, measure in (("slope", by_slope), ("table", by_table)):
            for budget, share in enumerate(plan.budgets):
                each = [correlated(measure, plan, found, pair, budget) for pair in pairs]
                result[f"{what}, {share:g} of the keys, {name}"] = {
                    "mean": float(np.mean(each)), "lowest": min(each), "highest": max(each),
                }
    return {"published": PUBLISHED, "rank correlation": result, "even log": same_tables(
        plan, found), "noise": noise(plan, found, full)}


def by_slope(plan, records_):
    """Least-squares slope of the reward along each head's weight."""
    return policy.slopes(records_, len(plan.budgets))


def by_table(plan, records_):
    """The head table itself, by plain averaging: subsets do not log evenly."""
    return policy.fit(records_, plan, bins=(1, 1), learner="average")[0].head_blk


def correlated(measure, plan, found, pair, budget):
    """Rank correlation over heads of what two sets of records say."""
    ours, theirs = (
        measure(plan, found.where(part & (found.budget_n == budget)))[budget].flatten()
        for part in pair
    )
    return spearman(ours.numpy(), theirs.numpy())


def same_tables(plan, found):
    """Share of entries that conservative learning and averaging fill alike."""
    result = {}
    for name, log in (("as logged", found),
                      ("thinned", thinned(found, torch.Generator().manual_seed(1)))):
        ours, report = policy.fit(log, plan)
        theirs, _ = policy.fit(log, plan, learner="average")
        result[name] = {
            "heads alike": float((ours.head_blk == theirs.head_blk).double().mean()),
            "gates alike": float((ours.gate_blep == theirs.gate_blep).double().mean()),
            "heads": str(report.heads), "gates": str(report.gate),
        }
    return result


def noise(plan, found, full):
    """Spread of the loss within a prompt's rollouts, and between prompts."""
    result = {}
    for budget, share in enumerate(plan.budgets):
        for corpus, name in enumerate(records.CORPORA):
            cell = (found.budget_n == budget) & (found.corpus_n == corpus)
            lost = (found.loss_n - full)[cell].view(-1, plan.rollouts)
            result[f"{share:g} of the keys, {name}"] = {
                "prompts": len(lost),
                "mean": lost.mean().item(),
                "between prompts": lost.mean(1).std().item(),
                "within a prompt": lost.std(1).mean().item(),
            }
    return result


# --- overhead --------------------------------------------------------------------------


def overhead(loaded, plan, found, rounds, length=2048, share=0.25):
    """CPU seconds of reading and compressing, taking turns with SnapKV."""
    tables, _ = policy.fit(found, plan)
    ours = methods.Method("compilerkv", Stabilised(plan.window), RiskGate(tables), "padded")
    documents = [d for d in corpora.documents("english")[120:] if d.holds(loaded.tokenizer, length)]
    tokens = documents[0].tokens(loaded.tokenizer, length)
    times = {"snapkv": [], "compilerkv": []}
    engine.compress(loaded.model, tokens, ours, share)
    for _ in range(rounds):
        for name, method in (("snapkv", "snapkv"), ("compilerkv", ours)):
            began = time.process_time()
            engine.compress(loaded.model, tokens, method, share)
            times[name].append(time.process_time() - began)
    ratios = [b / a for a, b in zip(times["snapkv"], times["compilerkv"])]
    return {"tokens": length, "share": share, "seconds": times, "ratios": ratios,
            "ratio": statistics.median(ratios),
            "dtype": str(loaded.model.dtype).removeprefix("torch.")}


def main():
    """Run the parts that were named, all by default."""
    parts = ("agreement", "ablation", "overhead")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calibration", type=Path, default=CALIBRATION)
    parser.add_argument("parts", nargs="*", choices=[*parts, []])
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    plan, found, full = calibration(args.calibration)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["calibration"] = {
        k: v for k, v in dataclasses.asdict(plan).items() if k != "texts"
    } | {"prompts": len(found.prompt_n.unique())}
    for part in args.parts or parts:
        if part == "agreement":
            results[part] = agreement(plan, found, full)
        elif part == "ablation":
            loaded = models.load(device="cpu", dtype=getattr(torch, plan.dtype))
            results[part] = ablation(loaded, plan, found, args.documents)
        else:
            loaded = models.load(device="cpu")
            results[part] = overhead(loaded, plan, found, args.rounds)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
