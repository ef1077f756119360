"""A comparison is what the engine gives, question by question, killed or not."""

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from kvteach import engine, methods, models
from kvteach.evaluate.compare import measure, plan, report, summary
from kvteach.shards import PlanError

SMALL = {
    "tokens": 192, "documents": 2, "questions": 2, "budgets": (0.5, 0.25),
    "method_names": ("snapkv:window=16", "contourkv:floor=8", "knorm"),
    "conditions": ("after", "visible", "document"),
}
ARGUMENTS = [
    "--tokens", "400", "--documents", "4", "--questions", "2", "--budgets", "0.5",
    "--methods", "snapkv:window=16", "contourkv:floor=8",
]  # fmt: skip


@pytest.fixture(scope="module")
def small(bundled):
    return plan.make_plan(bundled, **SMALL)


@pytest.fixture(scope="module")
def table(small):
    return pa.concat_tables([measure.measure(small, i) for i in range(2)])


def test_every_cell_is_there_once(table):
    rows = table.to_pylist()
    keys = [tuple(r[k] for k in ("document", "question", "condition", "method", "enforced",
                                 "budget")) for r in rows]
    assert len(set(keys)) == len(keys)
    # full once; snapkv and knorm at 2 budgets; contourkv also unenforced
    assert len(keys) == 2 * 2 * 3 * (1 + 2 * 4)


@pytest.mark.parametrize("condition", ["after", "visible", "document"])
def test_an_answer_is_what_greedy_decoding_gives(bundled, small, table, condition):
    example = small.example(1, bundled.tokenizer)
    seen = set()
    for number, question in enumerate(example.questions[:2]):
        for name, budget in (("snapkv:window=16", 0.5), ("contourkv:floor=8", 0.25)):
            session = engine.compress(
                bundled.model, example.document, name, budget, question=question.tokens,
                condition=condition,
            )
            told = session.fork().generate(max_new_tokens=len(question.answer), do_sample=False)
            [row] = [
                r for r in table.to_pylist()
                if (r["document"], r["question"], r["condition"], r["method"], r["enforced"],
                    r["budget"]) == (1, number, condition, name, True, budget)
            ]
            assert row["exact"] == torch.equal(told[0], question.answer)
            assert row["held_bytes"] == session.ledger.compressed
            logits = session.logits(question.answer)[0, :-1].log_softmax(-1)
            nll = -logits.gather(1, question.answer[:, None]).mean().item()
            assert row["nll"] == pytest.approx(nll, abs=2e-4)
            seen.add(row["exact"])
    assert seen


def test_the_summary_counts_what_is_in_the_table(table, small):
    found = summary.summarise(table, small)
    rows = table.to_pylist()
    for cell in found["cells"]:
        name, enforced = cell["method"].removesuffix(summary.LOOSE), summary.LOOSE not in cell["method"]
        own = [r for r in rows if (r["condition"], r["budget"], r["method"], r["enforced"])
               == (cell["condition"], cell["budget"], name, enforced)]
        assert cell["score"][0] == pytest.approx(sum(r["exact"] for r in own) / len(own))
        held = sum(r["held_bytes"] for r in own) / sum(r["full_bytes"] for r in own)
        assert cell["held_over_full"] == pytest.approx(held)
    for entry in found["conditions"]:
        for condition in ("document", "after"):
            own = entry[condition]
            assert own["minus_visible"][0] == pytest.approx(
                own["score"][0] - entry["visible"]["score"][0])
    text = report.render({**found, "plan": json.loads(small.to_json()),
                          "took": {"cpu_seconds": 1.0, "machine": "here"}})
    assert "The question in the room" in text and "snapkv:window=16" in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task_names": ("riddles",)}, "tasks: 'riddles'; there are mixed_facts"),
        ({"method_names": ("snapkw",)}, "methods: method: 'snapkw'"),
        ({"method_names": ("knorm", "knorm")}, "need distinct ones"),
        ({"budgets": (0.0,)}, "budgets"),
        ({"budgets": (1.0,)}, "budgets"),
        ({"budgets": ()}, "budgets"),
        ({"conditions": ("before",)}, "conditions: 'before'"),
        ({"documents": 1}, "documents: 1"),
        ({"questions": -1}, "questions: -1 is negative"),
        ({"tokens": 10}, "tokens: 10"),
        ({"seed": -1}, "seed: -1 is negative"),
    ],
)
def test_wrong_plans(bundled, change, said):
    with pytest.raises(PlanError, match=said):
        plan.make_plan(bundled, **{**SMALL, **change})


def test_another_model_is_compared_without_what_was_fitted_to_ours(save_reader, tmp_path):
    loaded = models.load(save_reader(tmp_path / "tiny", layers=2))
    made = plan.make_plan(loaded, tokens=400, documents=2)
    assert not set(made.methods) & set(methods.FITTED) and "kvzip" in made.methods
    assert set(plan.make_plan(models.load(), tokens=400, documents=2).methods) == set(
        methods.METHODS)


def test_methods_that_no_budget_holds_are_shown_with_dashes(bundled):
    made = plan.make_plan(bundled, tokens=300, documents=2, questions=1, budgets=(0.1,),
                          method_names=("kvzap", "snapkv:window=280", "knorm"))
    found = pa.concat_tables([measure.measure(made, i) for i in range(2)])
    assert set(found["method"].to_pylist()) == {"full", "knorm"}
    text = report.render({**summary.summarise(found, made), "plan": json.loads(made.to_json()),
                          "took": {"cpu_seconds": 1.0, "machine": "here"}})
    for name in ("kvzap", "snapkv:window=280"):
        assert f"| {name} | – | – | – |" in text


def kvteach(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "kvteach.cli", "compare", *map(str, arguments)],
                          capture_output=True, text=True, **options)


def test_killed_and_continued_gives_the_same_bytes(save_reader, tmp_path):
    """On a random model of two layers, which reads real text."""
    model = ["--model", str(save_reader(tmp_path / "tiny", layers=2))]
    whole = kvteach(tmp_path / "whole", *model, *ARGUMENTS)
    assert whole.returncode == 0, whole.stderr
    command = [sys.executable, "-m", "kvteach.cli", "compare", str(tmp_path / "killed")]
    process = subprocess.Popen(
        [*command, *model, *ARGUMENTS], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    shard = tmp_path / "killed" / "answers" / "00.parquet"
    for _ in range(1200):
        if shard.exists() or process.poll() is not None:
            break
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    again = kvteach(tmp_path / "killed", *model, *ARGUMENTS, "--jobs", "2")
    assert again.returncode == 0 and "are there already" in again.stderr
    files = [(tmp_path / name / "answers.parquet").read_bytes() for name in ("whole", "killed")]
    assert files[0] == files[1]
    assert len(pq.read_table(tmp_path / "whole" / "answers.parquet")) == 4 * 2 * 4
    other = kvteach(tmp_path / "whole", *model, *ARGUMENTS, "--seed", "1")
    assert other.returncode == 2 and "holds another comparison" in other.stderr


def test_methods_added_later_give_what_all_together_give(save_reader, tmp_path):
    model = ["--model", str(save_reader(tmp_path / "tiny", layers=2))]
    asked = [a for a in ARGUMENTS if not a.startswith(("snapkv", "contourkv"))]
    both = kvteach(tmp_path / "both", *model, *ARGUMENTS)
    first = kvteach(tmp_path / "one", *model, *asked, "snapkv:window=16")
    assert (both.returncode, first.returncode) == (0, 0), both.stderr + first.stderr
    again = kvteach(tmp_path / "one", "--add", "snapkv:window=16")
    assert again.returncode == 2 and "is in" in again.stderr
    added = kvteach(tmp_path / "one", "--add", "contourkv:floor=8")
    assert added.returncode == 0, added.stderr
    tables = [pq.read_table(tmp_path / name / "answers.parquet") for name in ("both", "one")]
    assert tables[0].equals(tables[1])
    plans = [json.loads((tmp_path / name / "plan.json").read_text()) for name in ("both", "one")]
    assert plans[0] == plans[1]
    cells = [json.loads((tmp_path / name / "summary.json").read_text())["cells"]
             for name in ("both", "one")]
    assert cells[0] == cells[1]
    assert not (tmp_path / "one" / "added").exists()


def test_nothing_is_added_to_answers_of_another_machine(save_reader, tmp_path):
    model = ["--model", str(save_reader(tmp_path / "tiny", layers=2))]
    folder = tmp_path / "one"
    assert kvteach(folder, *model, *ARGUMENTS).returncode == 0
    rows = pq.read_table(folder / "answers.parquet").to_pylist()
    for row in rows:
        row["exact"] ^= row["method"] == "full"
    pq.write_table(pa.Table.from_pylist(rows, measure.SCHEMA), folder / "answers.parquet")
    done = kvteach(folder, "--add", "knorm")
    assert done.returncode == 2 and "differ from the recorded" in done.stderr
    unfinished = kvteach(tmp_path / "none", "--add", "knorm")
    assert unfinished.returncode == 2 and "no finished comparison" in unfinished.stderr


def test_wrong_usage(tmp_path):
    assert kvteach(tmp_path / "out", "--jobs", "0").returncode == 2
    done = kvteach(tmp_path / "out", "--methods", "snapkw")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
