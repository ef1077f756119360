"""The shipped tables are what their committed records say, and the records what a model says."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from kvteach import models
from kvteach.budgets import tables as tabled
from kvteach.compile import policy, records

RESULTS = Path(__file__).parents[2] / "benchmarks/results/compilerkv_calibration"


@pytest.fixture(scope="module")
def logged():
    plan = records.Plan.from_json((RESULTS / "plan.json").read_text())
    return plan, pq.read_table(RESULTS / "records.parquet")


def test_whole_decks_went_in(logged):
    """All prompts of the plan, or its first so many that every deck is empty."""
    plan, table = logged
    prompts = tabled.load().about["prompts"]
    assert len(table) == prompts * plan.rollouts
    assert table["prompt"].to_pylist()[:: plan.rollouts] == list(range(prompts))
    assert prompts % (records.EVEN * len(plan.budgets)) == 0 and prompts <= plan.prompts


def test_tables_are_fitted_from_the_records(logged):
    plan, table = logged
    made, report = policy.fit(policy.Records.of(table), plan)
    shipped = tabled.load(model=plan.identity)
    for name in ("head_blk", "gate_blep", "entropy_edges", "perplexity_edges"):
        assert torch.equal(getattr(made, name), getattr(shipped, name)), name
    assert shipped.budgets == plan.budgets and shipped.window == plan.window
    assert shipped.about == json.loads(json.dumps(made.about))
    assert report.heads.states == 1 and report.heads.cells == 1


def test_tables_are_for_the_bundled_model(bundled):
    tabled.load(model=bundled.identity).require(30, 3)


def test_a_slice_measured_again_is_the_same(logged):
    """One prompt of the record, its first rollouts, read again on this machine."""
    plan, table = logged
    loaded = models.load(device="cpu", dtype=getattr(torch, plan.dtype))
    again, texts = records.make_plan(loaded, plan.prompts, plan.tokens, seed=plan.seed)
    if other := again.difference(plan):
        pytest.skip(f"recorded with {other}")  # another Python has another code corpus
    slice_, _ = records.measure(loaded.model, plan, 0, texts[0])
    recorded = table.slice(0, plan.rollouts)
    for name in ("prompt", "corpus", "budget", "rollout", "heads", "gates"):
        assert slice_[name].combine_chunks().equals(recorded[name].combine_chunks()), name
    for name in ("entropy", "perplexity", "full", "loss"):
        ours, theirs = (t[name].to_numpy() for t in (slice_, recorded))
        # Processors round bfloat16 sums in their own ways; 2**-8 of some nats at worst.
        assert ours == pytest.approx(theirs, rel=0.02), name
