"""Calibration records: even decks, rollouts that agree with the engine, resumption."""

import dataclasses
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from kvteach import engine, methods
from kvteach.budgets.risk_gate import RiskGate
from kvteach.budgets.tables import Tables
from kvteach.compile import compilerkv, policy, records, rollouts
from kvteach.scores.stabilised import Stabilised
from kvteach.shards import Shards, open_folder

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))
from engine_models import prompt, tiny

# A rollout and the engine add the same float32 numbers in another order.
CLOSE = 2e-4


# --- decks ------------------------------------------------------------------------


@given(st.integers(0, 50), st.integers(1, 40), st.integers(1, 9))
def test_any_part_of_a_deal_is_the_same(first, count, cards):
    whole = records.deal((1, 2), 0, first + count, cards, players=3)
    part = records.deal((1, 2), first, count, cards, players=3)
    assert (whole[first:] == part).all()


def test_every_deck_holds_each_card_once_for_each_player():
    dealt = records.deal((7,), 0, 29 * 4, 29, players=5)
    for deck in dealt.reshape(4, 29, 5):
        assert (deck.T.argsort(1).argsort(1) == deck.T).all()  # a permutation each
    assert len({tuple(column) for column in dealt.T}) == 5  # players differ


# --- rollouts ----------------------------------------------------------------------


def constant_tables(weights_lk, thresholds_l, window):
    return Tables(
        weights_lk[None], thresholds_l[None, :, None, None],
        torch.zeros(0), torch.zeros(0), (0.5,), window,
    )


@pytest.mark.parametrize("name", ["llama", "qwen3", "olmo2"])
@pytest.mark.parametrize("count", [1, 9, 20])
def test_a_rollout_is_what_the_engine_does(name, count, generator):
    model, tokens, window = tiny(name), prompt(56), 8
    layers, kv_heads = 4, 2
    read = rollouts.read(model, tokens, continuation=16, window=window)
    weights = 0.8 + torch.rand(3, layers, kv_heads, generator=generator)
    thresholds = torch.rand(3, layers, generator=generator)
    loss, over, kept = rollouts.roll(model, read, weights, thresholds, count, batch=2)
    for trial in range(3):
        tables = constant_tables(weights[trial], thresholds[trial], window)
        method = methods.Method("c", Stabilised(window), RiskGate(tables), "padded")
        session = engine.compress(model, tokens[:40], method, count)
        held = [layer.prefix.counts()[0, 0] + 1 for layer in session.cache.layers]
        assert kept[trial].tolist() == [int(n) for n in held]
        logits = session.logits(tokens[40:])[0, :-1]
        assert loss[trial] == pytest.approx(
            F.cross_entropy(logits.float(), tokens[40:]).item(), abs=CLOSE
        )
    assert (kept <= count).all() and ((over == 0) | (kept == count)).all()


def test_reading_gives_the_models_own_losses():
    model, tokens = tiny("llama"), prompt(56)
    read = rollouts.read(model, tokens, continuation=16, window=8)
    with torch.no_grad():
        logits = model(tokens[None], use_cache=False).logits[0]
    nats = F.cross_entropy(logits[:-1], tokens[1:], reduction="none")
    assert read.loss == pytest.approx(nats[-16:].mean().item(), abs=CLOSE)
    assert read.perplexity == pytest.approx(nats[-24:-16].mean().exp().item(), rel=CLOSE)
    # Everything kept: nothing is lost.
    loss, *_ = rollouts.roll(model, read, torch.ones(1, 4, 2), torch.zeros(1, 4), 40)
    assert loss.item() == pytest.approx(read.loss, abs=CLOSE)


def test_models_that_slide_are_refused():
    with pytest.raises(NotImplementedError, match="slides over 16 keys"):
        rollouts.read(tiny("gemma3"), prompt(56), continuation=16, window=8)
    with pytest.raises(ValueError, match="tokens: 24; need more than"):
        rollouts.read(tiny("llama"), prompt(24), continuation=16, window=8)
    read = rollouts.read(tiny("llama"), prompt(56), continuation=16, window=8)
    with pytest.raises(ValueError, match="count: 0 keys"):
        rollouts.roll(tiny("llama"), read, torch.ones(1, 4, 2), torch.zeros(1, 4), 0)


# --- a calibration from end to end ----------------------------------------------------


def tiny_plan(prompts=8):
    return records.Plan(
        "tiny", "float32", prompts, 40, 16, 8, 21, (0.5, 0.25), 3, ("random",),
        tuple(str(i) for i in range(prompts)), {},
    )


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration") / "out"
    plan, model = tiny_plan(), tiny("llama")
    texts = [prompt(56, seed=i) for i in range(plan.prompts)]
    open_folder(folder, plan, "calibration")
    shards = Shards(folder, "records", plan.prompts)
    compilerkv.measure(model, plan, texts, shards)
    return folder, plan, texts, shards.merge()


def test_killed_and_called_again_it_ends_with_the_same(calibrated, tmp_path, capsys):
    _, plan, texts, whole = calibrated
    open_folder(tmp_path / "again", plan, "calibration")
    shards = Shards(tmp_path / "again", "records", plan.prompts)

    class Killed(Exception):
        pass

    class Text(list):
        def __getitem__(self, index):
            if index == 3:
                raise Killed
            return texts[index]

    with pytest.raises(Killed):
        compilerkv.measure(tiny("llama"), plan, Text(), shards)
    assert shards.missing() == [3, 4, 5, 6, 7]
    compilerkv.measure(tiny("llama"), plan, texts, shards)
    assert "3 of 8 prompts are there already" in capsys.readouterr().out
    assert shards.merge().equals(whole)


def test_records_hold_what_was_tried(calibrated):
    _, plan, texts, table = calibrated
    found = policy.Records.of(table)
    assert found.heads_nlk.shape == (8 * 21, 4, 2) and found.gates_nl.shape == (168, 4)
    assert found.budget_n.view(8, 21)[:, 0].tolist() == [0, 1] * 4
    assert found.corpus_n.view(8, 21)[:, 0].tolist() == [0, 0, 1, 1] * 2
    # One rollout again, by hand.
    row = 21 * 5 + 4
    read = rollouts.read(tiny("llama"), texts[5], 16, 8)
    weights = torch.tensor(records.HEAD_WEIGHTS)[found.heads_nlk[row]][None]
    thresholds = torch.tensor(records.THRESHOLDS)[found.gates_nl[row]][None]
    loss, *_ = rollouts.roll(tiny("llama"), read, weights, thresholds, 10)
    assert found.loss_n[row] == pytest.approx(loss.item(), abs=CLOSE)


def test_rewards_are_counted_from_the_prompts_mean(calibrated):
    found = policy.Records.of(calibrated[3])
    by_prompt = found.rewards().view(8, 21)
    assert by_prompt.mean(1).abs().max() < 1e-12  # float64
    losses = found.loss_n.view(8, 21)
    assert torch.allclose(by_prompt[:, 1:] - by_prompt[:, :1], losses[:, :1] - losses[:, 1:])


def test_thresholds_are_logged_evenly_and_bins_by_quantile(calibrated):
    _, plan, _, table = calibrated
    found = policy.Records.of(table)
    edges = policy.risk_edges(found, (2, 1))
    per_prompt = found.entropy_n.view(8, 21)[:, 0]
    assert (per_prompt < edges[0]).sum() == 4 and len(edges[1]) == 0
    _, summary = policy.gate_values(found, 2, edges, plan.tokens)
    visited = summary.count_sa[summary.count_sa.sum(1) > 0]
    assert torch.equal(visited, visited[:, :1].expand_as(visited))


def test_fit_recovers_a_planted_preference(calibrated):
    """Losses made up so that a head's weight and a layer's threshold decide them."""
    _, plan, _, table = calibrated
    found = policy.Records.of(table)
    weight = torch.tensor(records.HEAD_WEIGHTS, dtype=torch.float64)[found.heads_nlk]
    gate = torch.tensor(records.THRESHOLDS, dtype=torch.float64)[found.gates_nl]
    loss = found.prompt_n + (weight[:, 2, 1] - 1.2).abs() + 5 * (gate[:, 1] - 0.9).abs()
    planted = dataclasses.replace(
        found, loss_n=loss, over_nl=torch.zeros_like(found.over_nl)
    )
    tables, report = policy.fit(planted, plan, bins=(1, 1))
    assert (tables.gate_blep[:, 1, 0, 0] - 0.9).abs().max() < 0.021  # a grid step or two
    assert report.gate.uneven == pytest.approx(0)
    averaged, _ = policy.fit(planted, plan, bins=(1, 1), learner="average")
    assert torch.equal(averaged.gate_blep, tables.gate_blep)  # an even log


def test_unvisited_states_fall_back(calibrated):
    _, plan, _, table = calibrated
    found = policy.Records.of(table)
    half = found.where(found.budget_n == 0)
    tables, report = policy.fit(half, plan, bins=(2, 2))
    assert (tables.head_blk[1] == 1).all()
    assert tables.gate_blep[1].unique().tolist() == pytest.approx([0.8])
    assert report.heads.states == 0.5
    assert tables.about["prompts"] == 4


def test_bad_requests_are_named(calibrated):
    _, plan, _, table = calibrated
    found = policy.Records.of(table)
    with pytest.raises(ValueError, match="learner: 'best'"):
        policy.fit(found, plan, learner="best")
    with pytest.raises(ValueError, match="bins"):
        policy.fit(found, plan, bins=(0, 2))
    with pytest.raises(ValueError, match="records: there are none"):
        policy.fit(found.where(slice(0)), plan)
