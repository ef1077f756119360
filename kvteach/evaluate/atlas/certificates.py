"""Table 7: how often a proof over all keys beats the pool's optimum.

Which rows are solved follows from the plan; what is proved in the time allowed
depends on the machine, so these records stay out of rows.parquet.
"""

import functools

import numpy as np
import pyarrow as pa
import torch

from kvteach import capture
from kvteach.evaluate.atlas.plan import LARGEST_SOLVED, tokens_of
from kvteach.evaluate.atlas.summary import Rows, closure
from kvteach.shards import Shards
from kvteach.evaluate.work import fill, load_once, one_thread
from kvteach.rows import statistics
from kvteach.rows.certify import certify
from kvteach.rows.exact import best_subset
from kvteach.rows.pool import published_pool

SECONDS = 10.0
GAP = 0.01
FLOOR = 0.9
STRATA = 10
IMPROVED = 0.99

SCHEMA = pa.schema(
    {
        "layer": pa.int16(),
        "head": pa.int16(),
        "position": pa.int32(),
        "budget": pa.int32(),
        "keys": pa.int32(),
        "floor": pa.float64(),
        "top_error": pa.float64(),
        "pool_error": pa.float64(),
        "upper": pa.float64(),
        "lower": pa.float64(),
        "proved": pa.bool_(),
        "nodes": pa.int64(),
        "seconds": pa.float64(),
    }
)


def certify_rows(folder, plan, table, count, jobs, say):
    """Certify ``count`` rows per budget; returns the table of certificates."""
    chosen = choose_rows(Rows.of(table), plan, count)
    shards = Shards(folder, f"certificates-{count}", len(plan.texts))
    work = functools.partial(certify_document, plan, chosen)
    fill(shards, work, (), jobs, say, "certified document")
    return shards.merge()


def choose_rows(rows, plan, count):
    """Per document (layer, head, position, budget) of rows drawn evenly from ten
    classes of dropped mass, for each solved budget."""
    names = [f"{text.corpus}/{text.name}" for text in plan.texts]
    chosen = {name: [] for name in names}
    for size in (size for size in plan.budgets if size <= LARGEST_SOLVED):
        here = rows.at(size)
        generator = np.random.default_rng([plan.seed, size])
        order = here.dropped_mass.argsort(kind="stable")
        strata = np.array_split(order, min(STRATA, count))
        for i, stratum in enumerate(strata):
            share = count // len(strata) + (i < count % len(strata))
            for row in generator.permutation(stratum)[:share]:
                where = here.layer[row], here.head[row], here.position[row]
                name = f"{here.corpus[row]}/{here.document[row]}"
                chosen[name].append((*map(int, where), size))
    return [sorted(chosen[name]) for name in names]


def certify_document(plan, chosen, index):
    """The `SCHEMA` table of one document's chosen rows."""
    wanted = chosen[index]
    if not wanted:
        return SCHEMA.empty_table()
    loaded = load_once(plan.model)
    tokens = tokens_of(plan.texts[index], loaded.tokenizer, plan.tokens)
    layers, positions = (sorted({row[i] for row in wanted}) for i in (0, 2))
    with one_thread():
        taken = capture.rows(loaded.model, tokens, layers=layers, positions=positions)
        records = [
            record
            for layer, head, position, size in wanted
            for record in _certify(
                taken.layers[layer].row(head, positions.index(position)), size
            )
        ]
    return pa.Table.from_pylist(records, SCHEMA)


def _certify(row, size):
    """Two records of one row: any set, and sets that keep 0.9 of the top mass."""
    pool = published_pool(row.p, row.v, size)
    top = torch.arange(len(row.p))[row.p.argsort(descending=True, stable=True)[:size]]
    top_error = best_subset(row.p, row.v, size, pool=top).error.item()
    for floor in (None, FLOOR):
        best = best_subset(row.p, row.v, size, pool=pool, floor=floor)
        found = certify(row.p, row.v, size, floor=floor, gap=GAP, time_limit=SECONDS)
        if not found.proved and found.seconds < SECONDS / 2:
            raise KeyboardInterrupt  # certify returned early with what it had
        layer, head, position = row.where
        yield {
            "layer": layer,
            "head": head,
            "position": position,
            "budget": size,
            "keys": len(row.p),
            "floor": floor or 0.0,
            "top_error": top_error,
            "pool_error": best.error.item(),
            "upper": found.upper,
            "lower": found.lower,
            "proved": found.proved,
            "nodes": found.nodes,
            "seconds": found.seconds,
        }


def table_7(certificates, table):
    """Counts, Wilson bounds and caps per budget, for summary.json."""
    found, rows = Rows.of(certificates), Rows.of(table)
    budgets = {}
    for size in map(int, np.unique(found.budget)):
        every, here = rows.at(size), found.at(size)
        free, floored = here[here.floor == 0], here[here.floor > 0]
        budgets[size] = {
            "free": _substitution(free, closure(every, every.best_error)),
            "floor": _substitution(floored, 1 - floored.pool_error / floored.top_error),
        }
    return {"seconds": SECONDS, "gap": GAP, "floor": FLOOR, "budgets": budgets}


def _substitution(here, closures):
    """Rates of one column of Table 7; ``closures`` are what the caps start from."""
    improved = int((here.proved & (here.upper < IMPROVED * here.pool_error)).sum())
    solved, total = int(here.proved.sum()), len(here.proved)
    rate = statistics.wilson_upper(improved, solved) if solved else None
    with_unsolved = statistics.wilson_upper(improved + total - solved, total)
    return {
        "improved": improved,
        "solved": solved,
        "unsolved": total - solved,
        "wilson": rate,
        "median": float(np.median(closures)),
        "cap": _cap(closures, rate),
        "cap_unsolved": _cap(closures, with_unsolved),
        "solved_within_1_s": float((here.proved & (here.seconds < 1)).mean()),
        "median_seconds": float(np.median(here.seconds)),
    }


def _cap(closures, rate):
    return (
        None if rate is None or rate >= 0.5 else statistics.median_cap(closures, rate)
    )
