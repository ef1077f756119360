"""What the prompts of a calibration agree on: spread of losses, and slopes of heads.

    python benchmarks/reliability.py CALIBRATION

CALIBRATION: a folder that `kvteach compile compilerkv` fills, complete or not: the prompts
that are there are read. Writes benchmarks/results/reliability.json, for chapter 18.
"""

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from kvteach.compile import policy, records
from kvteach.rows.statistics import spearman

RESULTS = Path(__file__).parent / "results" / "reliability.json"
DRAWS = 200


def read(folder):
    """The plan, the records that are there, and the loss of the full cache of each."""
    plan = records.Plan.from_json((folder / "plan.json").read_text())
    files = sorted((folder / "records").glob("*.parquet"))
    table = pa.concat_tables([pq.read_table(file) for file in files])
    full_n = torch.from_numpy(table["full"].to_numpy().copy())
    return plan, policy.Records.of(table), full_n


def spread(plan, found, full_n):
    """Spread of the loss within prompts and between them, for corpora and budgets."""
    cells = []
    for budget, share in enumerate(plan.budgets):
        for corpus, name in enumerate(records.CORPORA):
            chosen = (found.budget_n == budget) & (found.corpus_n == corpus)
            loss_pr = found.loss_n[chosen].view(-1, plan.rollouts)
            lost_pr = loss_pr - full_n[chosen].view(-1, plan.rollouts)
            cells.append({
                "corpus": name, "budget": share, "prompts": len(loss_pr),
                "increase": lost_pr.mean().item(),
                "within": loss_pr.var(1).mean().sqrt().item(),
                "between": lost_pr.mean(1).std().item(),
                "between losses": loss_pr.mean(1).std().item(),
            })
    return cells


def slopes(reward_pr, weight_prh, chosen):
    """Least-squares slope of the reward along every head's weight, [H]."""
    reward, weight = reward_pr[chosen], weight_prh[chosen]
    return (weight * reward[..., None]).sum((0, 1)) / (weight**2).sum((0, 1))


def agreement(plan, found):
    """Rank correlation over heads of the slopes of two sets of prompts."""
    grid, cells = np.array(records.HEAD_WEIGHTS), []
    for budget, share in enumerate(plan.budgets):
        some = found.where(found.budget_n == budget)
        reward_pr = some.rewards().view(-1, plan.rollouts).numpy()
        weight_prh = grid[some.heads_nlk.flatten(1).numpy()]
        weight_prh = weight_prh.reshape(*reward_pr.shape, -1)
        weight_prh = weight_prh - weight_prh.mean(1, keepdims=True)
        corpus_p = some.corpus_n.view(-1, plan.rollouts)[:, 0].numpy()
        everyone = np.arange(len(corpus_p))
        for name, first in (
            ("speeches and code", corpus_p == 0),
            ("halves of all", np.random.default_rng(0).permutation(everyone) % 2 == 0),
        ):
            sets = everyone[first], everyone[~first]
            cells.append({
                "budget": share, "sets": name,
                "rollouts": min(map(len, sets)) * plan.rollouts,
                "correlation": correlated(reward_pr, weight_prh, sets),
                "at best": at_best(min(map(len, sets)) * plan.rollouts, weight_prh.shape[2]),
            })
    return cells


def correlated(reward_pr, weight_prh, sets):
    """The rank correlation, and its 95% interval when both sets draw prompts again."""
    generator, drawn = np.random.default_rng(1), []
    for _ in range(DRAWS):
        again = [generator.choice(chosen, len(chosen)) for chosen in sets]
        drawn.append(spearman(*(slopes(reward_pr, weight_prh, each) for each in again)))
    estimate = spearman(*(slopes(reward_pr, weight_prh, each) for each in sets))
    return [estimate, *np.quantile(drawn, [0.025, 0.975]).tolist()]


def at_best(rollouts, heads):
    """Correlation if all spread within prompts came from the weights, in equal parts.

    A slope then has signal s / sqrt(heads) in noise s / sqrt(rollouts), s being the spread.
    """
    return rollouts / (rollouts + heads)


def main():
    """Read a folder and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("calibration", type=Path)
    plan, found, full_n = read(parser.parse_args().calibration)
    result = {
        "prompts": len(found.prompt_n.unique()),
        "calibration": {k: v for k, v in dataclasses.asdict(plan).items() if k != "texts"},
        "spread": spread(plan, found, full_n),
        "agreement": agreement(plan, found),
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
