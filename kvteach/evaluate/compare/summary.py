"""What the answers say: means, bytes, and each method of the book paired with all others."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvteach.evaluate import tasks
from kvteach.evaluate.atlas import intervals
from kvteach.evaluate.pairs import pairs, pairs_at_equal_bytes, rows
from kvteach.evaluate.record import family, tally

REFERENCES = (
    "contourkv", "contourkv-kvzip", "certkv", "tangent", "tangent-kvzip", "core", "coverage",
    "page-entrokv", "compilerkv",
)
"""Methods that a chapter builds: each has a record of its own, where it was compared."""
LOOSE = ", unenforced"
CELL = ("task", "condition", "budget")


def summarise(table, plan, seed=0):
    """The summary as a dictionary that JSON can hold; shapes as `report` prints them.

    Scores: the share of exact answers, or of right tokens where the task is judged by
    them, as in `kvteach.evaluate.tasks`. Intervals resample clusters of documents.
    """
    table = named(table)
    return {
        "cells": cells(table, seed),
        "records": records(table, seed),
        "equal_bytes": equal_bytes(table, seed),
        "conditions": conditions(table, plan, seed),
        "documents": {
            task: len(set(own["document"].to_pylist())) for task, own in by(table, "task")
        },
        "clusters": len(set(table["cluster"].to_pylist())),
    }


def named(table):
    """The table with a column ``score``, and enforcement in the method's name."""
    answers = table.to_pylist()
    names = [answer["method"] + ("" if answer["enforced"] else LOOSE) for answer in answers]
    scores = [float(answer[tasks.get(answer["task"]).decides]) for answer in answers]
    table = table.set_column(table.column_names.index("method"), "method", pa.array(names))
    return table.append_column("score", pa.array(scores, pa.float64()))


def by(table, *columns):
    """(values, table) for each combination of values, in order of first appearance."""
    keys = list(zip(*(table[name].to_pylist() for name in columns)))
    for key in dict.fromkeys(keys):
        chosen = pa.array([k == key for k in keys])
        yield (key if len(columns) > 1 else key[0]), table.filter(chosen)


def cells(table, seed):
    """Per task, condition, budget and method: bytes held, score, nats, with intervals."""
    found = []
    for (task, condition, budget, method), own in by(table, *CELL, "method"):
        clusters = own["cluster"].to_numpy()
        held = pc.sum(own["held_bytes"]).as_py()
        found.append({
            "task": task, "condition": condition, "budget": budget, "method": method,
            "held_over_full": held / pc.sum(own["full_bytes"]).as_py(),
            "held_over_nominal": held / pc.sum(own["nominal_bytes"]).as_py(),
            "score": intervals.mean(own["score"].to_numpy(), clusters, seed),
            "exact": pc.mean(own["exact"].cast(pa.float64())).as_py(),
            "nll": intervals.mean(own["nll"].to_numpy(), clusters, seed),
            "answers": len(own),
        })
    return found


def records(table, seed):
    """Each reference against every other method, cell by cell, Holm over all of them."""
    methods = list(dict.fromkeys(table["method"].to_pylist()))
    found = {}
    for reference in [r + loose for r in REFERENCES for loose in ("", LOOSE)]:
        if reference not in methods:
            continue
        ours, against = rows(table, method=reference), {}
        for method in methods:
            if method in (reference, "full"):
                continue
            theirs = rows(table, method=method)
            against[method] = pairs(ours, theirs, CELL, "score")
        verdicts = family(against, seed=seed)
        found[reference] = {
            "cells": [
                {"method": v.opponent, **dict(zip(CELL, v.cell)), "p_holm": v.p_holm,
                 **v.comparison._asdict()}
                for v in verdicts
            ],
            "tally": {rule: tally(verdicts, rule) for rule in ("sign", "interval", "holm")},
        }
    return found


def equal_bytes(table, seed):
    """What an unenforced method still wins over itself enforced, at the bytes it held."""
    found = []
    names = set(table["method"].to_pylist())
    for method in sorted(name for name in names if name + LOOSE in names):
        ours, theirs = (rows(table, method=name) for name in (method, method + LOOSE))
        matched, outside = pairs_at_equal_bytes(ours, theirs, ("task", "condition"), "score")
        nominal = pairs(ours, theirs, CELL, "score")
        for cell, (ours, theirs, clusters) in matched.items():
            plain = nominal[cell]
            found.append({
                "method": method, **dict(zip(CELL, cell)),
                "gain_at_nominal": intervals.mean(plain[1] - plain[0], plain[2], seed),
                "gain_at_equal_bytes": intervals.mean(theirs - ours, clusters, seed),
                "answers": len(ours), "outside": outside[cell],
            })
    return found


def conditions(table, plan, seed):
    """What the question's visibility is worth: visible against the other conditions."""
    found = []
    if "visible" not in plan.conditions:
        return found
    for (task, budget, method), own in by(table, "task", "budget", "method"):
        entry = {"task": task, "budget": budget, "method": method}
        seen = {c: _by_question(part) for c, part in by(own, "condition")}
        for condition, told in seen.items():
            shared = sorted(told.keys() & seen["visible"].keys())
            scores, held, clusters = (np.array([told[k][i] for k in shared]) for i in range(3))
            visible = np.array([seen["visible"][k][:2] for k in shared])
            entry[condition] = {
                "score": intervals.mean(scores, clusters, seed),
                "minus_visible": intervals.mean(scores - visible[:, 0], clusters, seed),
                "held_over_visible": float(held.sum() / visible[:, 1].sum()),
                "answers": len(shared),
            }
        found.append(entry)
    return found


def _by_question(table):
    columns = ("document", "question", "score", "held_bytes", "cluster")
    return {(d, q): (s, b, c) for d, q, s, b, c in zip(*(table[n].to_pylist() for n in columns))}
