"""More methods for a finished comparison: only what is new is measured."""

import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kvteach import methods
from kvteach.evaluate.compare.measure import measure_answers
from kvteach.evaluate.compare.plan import Plan
from kvteach.shards import PlanError, Shards, as_bytes, write_whole
from kvteach.evaluate.work import load_once

TOLERATED = 0.01
"""Share of the full cache's answers that another processor may tell otherwise."""


def add_methods(folder, names, jobs=None):
    """Measure ``names`` on the documents of a finished comparison and put them beside it.

    Returns (plan, table, took). The full cache answers again: it must answer as recorded
    but for `TOLERATED` of the questions, so that new and old records may be paired; in
    half precision another processor rounds otherwise, and a near tie falls otherwise. A
    run that was stopped continues in ``folder``/added. Raises PlanError where there is no
    finished comparison, a method is there already, or this machine answers otherwise.
    """
    plan, recorded = _finished(folder)
    names = tuple(dict.fromkeys(names))
    for name in names:
        if name in plan.methods:
            raise PlanError(f"methods: {name!r} is in {folder} already")
        try:
            methods.get(name)
        except ValueError as error:
            raise PlanError(f"methods: {error}") from error
    loaded = load_once(plan.model, plan.dtype)
    if loaded.identity != plan.identity:
        raise PlanError(f"model: here it is {loaded.identity}, recorded was {plan.identity}")
    part = replace(plan, methods=names)
    table = measure_answers(folder / "added", part, jobs)
    made = Shards(folder / "added", "answers", part.count).provenance()
    differing = _differing(recorded, table)
    new = table.filter(pc.not_equal(table["method"], "full"))
    whole = _in_order(pa.concat_tables([recorded, new]), plan)
    whole_plan = replace(plan, methods=plan.methods + names)
    return whole_plan, whole, {**_took(folder, made), "full_cache_differs": differing}


def put_down(folder, plan, table):
    """Write the larger comparison; what was measured apart is then gone."""
    write_whole(folder / "answers.parquet", as_bytes(table))
    write_whole(folder / "plan.json", plan.to_json().encode())
    shutil.rmtree(folder / "added")


def _took(folder, made):
    """Seconds and machines of the recorded comparison and of the new shards together."""
    before = json.loads((folder / "summary.json").read_text())["took"]
    machines = {*before["machine"].split("; "), *(m["machine"] for m in made)}
    versions = {*before["kvteach"].split("; "), *(m["kvteach"] for m in made)}
    return {
        "cpu_seconds": round(before["cpu_seconds"] + sum(m["cpu_seconds"] for m in made), 1),
        "machine": "; ".join(sorted(machines)),
        "kvteach": "; ".join(sorted(versions)),
    }


def _finished(folder):
    files = [folder / name for name in ("plan.json", "answers.parquet", "summary.json")]
    if not all(file.is_file() for file in files):
        raise PlanError(f"{folder} holds no finished comparison to add to")
    return Plan.from_json(files[0].read_text()), pq.read_table(files[1])


def _differing(recorded, table):
    """How many answers of the full cache are not the recorded ones, as words."""
    def told(answers):
        full = answers.filter(pc.equal(answers["method"], "full")).to_pylist()
        return {
            tuple(a[k] for k in ("task", "document", "condition", "question")): a["exact"]
            for a in full
        }

    before, now = told(recorded), told(table)
    other = sum(before[key] != now.get(key) for key in before)
    if other > TOLERATED * len(before):
        raise PlanError(
            f"{other} of {len(before)} answers of the full cache differ from the recorded "
            "ones: another machine or other versions; make the whole comparison again"
        )
    return f"{other} of {len(before)}"


def _in_order(table, plan):
    """Documents of one task after another, recorded answers of each before new ones."""
    order = [plan.tasks.index(task) for task in table["task"].to_pylist()]
    place = pa.array(range(len(table)))
    keyed = table.append_column("_task", pa.array(order)).append_column("_place", place)
    by = [("_task", "ascending"), ("document", "ascending"), ("_place", "ascending")]
    return keyed.sort_by(by).drop_columns(["_task", "_place"])
