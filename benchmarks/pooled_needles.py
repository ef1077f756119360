"""Does a needle survive the vote? Pages chosen by pooled heads, on the bundled model.

    python benchmarks/pooled_needles.py       # 48 documents, a quarter of an hour

Eight facts hide in a speech; the prompt ends with the words of one of them and a space,
so its last row is the one that looks the number up. Pages of 16 tokens are ranked by
the attention of all rows, of the question's rows, or of the last row. The query heads of
a group agree by entropy, mean or maximum, or each ranks for itself.

Of every document: the share of the 90 groups whose kept pages hold the whole number
("groups"), whether all 90 do ("all"), the share of retrieval groups that do
("retrieval", those with a head that gives the number half its weight in the last row),
the keys held over the budget ("held"), whether the digits are answered ("exact"), and
the nats of a digit ("nll"). And of each group with a retrieval head, for the needle
bound: that head's mass on the number, its entropy, those of the others, and the pooled mass.

Results: benchmarks/results/pooled_needles.json, with means and 95% intervals over
documents (clusters are speeches) and what each document gave.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from kvteach import bundled, methods, models
from kvteach.budgets.pages import WholePages, page_scores, pages_per_layer
from kvteach.budgets.uniform import Uniform
from kvteach.engine import Reading
from kvteach.evaluate import tasks
from kvteach.evaluate.atlas import intervals
from kvteach.evaluate.metrics import ask
from kvteach.scores.pooled import isolated, pooled, received, renyi, vote

from provenance import machine

RESULTS = Path(__file__).parent / "results" / "pooled_needles.json"
LENGTH, PAGE, TAU, SEED = 1024, 16, 0.5, 16
LAYERS, GROUPS = 30, 90
BUDGETS = (0.5, 0.2, 0.1, 0.05, 0.03)
POOLS = {"entropy": pooled, "mean": lambda m: m.mean(-2), "max": lambda m: m.amax(-2)}
MEASURES = ("groups", "all", "retrieval", "held", "exact", "nll")
RETRIEVAL = 0.5
"""A head with this share of its row on the number is a retrieval head."""


@dataclass(frozen=True, eq=False)
class Vote:
    """`Pooled`, with the rows' attention computed once for all ways to pool."""

    rows: int
    pool: str
    known: dict  # (rows, layer) -> [K, R, S]

    window = None
    hidden = False

    def __call__(self, layer):
        return POOLS[self.pool](self.mass(layer))

    def mass(self, layer):
        """Mean weights over the last ``rows`` rows, [K, R, S]."""
        key = self.rows, layer.index
        if key not in self.known:
            mass_hs = received(layer, self.rows)
            self.known[key] = mass_hs.view(len(layer.keys_ksd), -1, layer.length)
        return self.known[key]


class Alone(Vote):
    """Minus the best place that any head of the group gives a key's page."""

    def __call__(self, layer):
        page_krn = page_scores(self.mass(layer), PAGE)
        page_krn[..., -1] = torch.inf  # the last page stays, as in the budget rule
        order = page_krn.argsort(dim=-1, descending=True, stable=True)
        place = order.argsort(dim=-1).amin(1)
        return -place.repeat_interleave(PAGE, -1)[:, : layer.length].float()


class Union(WholePages):
    """Every query head keeps its own K_l pages; the KV head holds the union."""

    def of_layer(self, score, entries, layer, depth):
        length = score.shape[-1]
        count = pages_per_layer(entries, length, self.page, depth, last_stays=True)[layer]
        return (score > -count) | score.isposinf()


def candidates(asked, known):
    """(rows, name, Method) of everything that is compared."""
    windows = {"all rows": 4096, "the question's rows": asked, "the last row": 1}
    for label, rows in windows.items():
        scores = {pool: Vote(rows, pool, known) for pool in POOLS}
        for pool, score in scores.items():
            yield label, pool, methods.Method(pool, score, WholePages(PAGE), "padded")
        alone = Alone(rows, "alone", known)
        yield label, "alone", methods.Method("alone", alone, Union(PAGE), "ragged")
        yield label, "alone, enforced", methods.Method(
            "enforced", alone, WholePages(PAGE), "padded")
        if label == "the question's rows":
            score = scores["entropy"]
            yield label, "entropy, single keys", methods.Method(
                "keys", score, Uniform(), "padded")
            yield label, "entropy, pages by mean", methods.Method(
                "mean pages", score, WholePages(PAGE, "mean"), "padded")


def number_at(document, answer):
    """Positions of the answer's digits in the document."""
    first = (document.unfold(0, len(answer), 1) == answer).all(1).nonzero()[0].item()
    return torch.arange(first + 1, first + len(answer))


def kept_mask(session, length):
    """What every group holds, [G, S] bool; the newest token waits outside."""
    kept = torch.zeros(GROUPS, length, dtype=torch.bool)
    for group in range(GROUPS):
        layer, head = divmod(group, 3)
        kept[group, session.cache.layers[layer].prefix.positions(0, head)] = True
    kept[:, -1] = True
    return kept


def bound_rows(mass_grs, digits):
    """What the needle bound speaks of, for every group with a retrieval head."""
    needle_gr = mass_grs[..., digits].double().sum(-1)
    entropy_gr, found = renyi(isolated(mass_grs)), []
    for group, (needle_r, entropy_r) in enumerate(zip(needle_gr, entropy_gr)):
        best = int(needle_r.argmax())
        if needle_r[best] >= RETRIEVAL:
            others = [h for h in range(len(needle_r)) if h != best]
            found.append({
                "group": group,
                "needle": needle_r[best].item(),
                "entropy": entropy_r[best].item(),
                "others": entropy_r[others].tolist(),
                "weight": vote(entropy_r, TAU)[best].item(),
                "pooled": pooled(mass_grs[group], TAU)[digits].double().sum().item(),
                "mean": needle_r.mean().item(),
            })
    return found


def of_document(loaded, example, number):
    """{case: measures} of one document, its groups for the bound, masses by window."""
    question = example.questions[number]
    asked = torch.cat([question.tokens, question.answer[:1]])
    wanted, digits = question.answer[1:], number_at(example.document, question.answer)
    reading = Reading(loaded.model, example.document, asked)
    length = example.length + len(asked)
    known, holds, found = {}, {}, {}
    full = ask(reading.compress("full"), None, wanted)
    for label, name, method in candidates(len(asked), known):
        for budget in BUDGETS:
            session = reading.compress(method, budget)
            kept, told = kept_mask(session, length), ask(session, None, wanted)
            case = f"{label} | {name} | {budget}"
            holds[case] = kept[:, digits].all(1)
            held = kept.sum(1).float().mean().item() / int(budget * length + 1e-9)
            found[case] = {"held": held, "exact": float(told.exact), "nll": told.loss}
    mass = {rows: torch.cat([known[rows, i] for i in range(LAYERS)])
            for rows in (4096, len(asked), 1)}
    bound = bound_rows(mass[1], digits)
    retrieval = [row["group"] for row in bound]
    for case, holds_g in holds.items():
        found[case] |= {"groups": holds_g.double().mean().item(), "all": float(holds_g.all())}
        if retrieval:
            found[case]["retrieval"] = holds_g[retrieval].double().mean().item()
    reach = [m[..., digits].sum(-1).max().item() for m in mass.values()]
    return found, {
        "name": example.cluster, "tokens": length, "depth": question.depth,
        "digits": digits.tolist(),
        "full": [float(full.exact), full.loss], "largest mass": reach, "bound": bound,
    }


def by_case(found, names):
    """{case: {measure: {"interval": [mean, low, high], "documents": one each}}}.

    A document without a retrieval group has no "retrieval": None.
    """
    cases = {}
    for case in found[0]:
        cases[case] = {}
        for measure in MEASURES:
            values = [of[case].get(measure) for of in found]
            there = [i for i, value in enumerate(values) if value is not None]
            interval = intervals.mean([values[i] for i in there], names[there])
            cases[case][measure] = {"interval": interval, "documents": values}
    return cases


def rounded(value):
    """Five digits after the point, wherever numbers are."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(entry) for entry in value]
    return round(value, 5) if isinstance(value, float) else value


def main():
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=48)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    loaded = models.load(device="cpu")
    examples = tasks.get("mixed_facts").examples(
        loaded.tokenizer, LENGTH, options.documents, torch.Generator().manual_seed(SEED))
    began, measured, documents = time.process_time(), [], []
    for index, example in enumerate(examples):
        found, about = of_document(loaded, example, index % len(example.questions))
        measured.append(found)
        documents.append(about)
        print(index, f"{time.process_time() - began:.0f} s", flush=True)
    record = {
        "made": {"command": "python benchmarks/pooled_needles.py", "machine": machine(
            "kvteach", "numpy", "torch", "transformers", dtype="float32",
            model=bundled.identity()),
                 "cpu_seconds": time.process_time() - began, "tokens": LENGTH,
                 "page": PAGE, "tau": TAU, "seed": SEED, "budgets": BUDGETS,
                 "retrieval": RETRIEVAL, "task": "mixed_facts"},
        "documents": documents,
        "cases": by_case(measured, np.array([d["name"] for d in documents])),
    }
    options.out.write_text(json.dumps(rounded(record)) + "\n")


if __name__ == "__main__":
    main()
