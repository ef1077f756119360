"""The rows of one document: capture, every rule, one table.

Errors are lengths of mu - m_A in float64. Nothing here depends on the machine's
speed or on how many documents are measured at once: one thread, fixed order.
"""

import numpy as np
import pyarrow as pa
import torch

from kvteach import capture
from kvteach.evaluate.atlas import loops
from kvteach.evaluate.atlas.audits import AUDITS, audits
from kvteach.evaluate.atlas.batch import Batch, falling, leverage_order, weights_at
from kvteach.evaluate.atlas.plan import LARGEST_SOLVED, tokens_of
from kvteach.shards import PlanError, Shards, open_folder
from kvteach.evaluate.work import fill, load_once, one_thread, tell
from kvteach.rows.exact import best_subset
from kvteach.rows.pool import MOST_EXTRAS

CAPTURE_BYTES = 512 * 2**20
"""Layers are captured in groups of about this size."""

KEYS = {
    "corpus": pa.string(),
    "document": pa.string(),
    "layer": pa.int16(),
    "head": pa.int16(),
    "position": pa.int32(),
    "budget": pa.int32(),
    "keys": pa.int32(),
}
PER_ROW = ("mu_norm", "spread", "farthest", "effective_keys")
PER_BUDGET = (
    "dropped_mass",
    "phi",
    "top_error",
    "best_error",
    "balanced_error",
    "frank_wolfe_error",
    "free_error",
    "leverage_error",
    "vote_error",
)
SCHEMA = pa.schema(
    [
        *KEYS.items(),
        *((name, pa.float64()) for name in PER_ROW + PER_BUDGET),
        ("proved", pa.bool_()),
        ("swaps", pa.int32()),
        *((name, pa.float64()) for name in AUDITS),
    ]
)
"""One record per document, layer, head, position and budget; see the chapter.

Null: best_error, frank_wolfe_error, free_error and leverage_error above the
solved budgets, the audits of deployed rules except at s = 8.
"""


def measure_rows(folder, plan, jobs=None, say=None):
    """Measure what ``folder`` lacks of a plan; returns the table of all rows.

    jobs: processes, as joblib counts them (-1: all cores); None leaves it to
    `joblib.parallel_config`. say: called with each line of progress. Raises
    PlanError when the folder holds another plan.
    """
    open_folder(folder, plan, "map")
    shards = Shards(folder, "rows", len(plan.texts))
    fill(shards, measure, (plan,), jobs, say or tell, "document")
    return shards.merge()


def measure(plan, index):
    """The `SCHEMA` table of document ``index`` of a plan.

    Loads the model once per process. Cost per document: a forward pass per group
    of layers, H T^2 D for the sums that H2O needs, then about a millisecond per
    row and budget.
    """
    text = plan.texts[index]
    loaded = load_once(plan.model)
    if loaded.identity != plan.identity:
        raise PlanError(
            f"model: here it is {loaded.identity}, the plan names {plan.identity}"
        )
    tokens = tokens_of(text, loaded.tokenizer, plan.tokens)
    tables = []
    with one_thread():
        for group in _layer_groups(plan, loaded.model):
            taken = capture.rows(
                loaded.model, tokens, layers=group, positions=range(plan.tokens)
            )
            for layer in group:
                positions = torch.from_numpy(plan.positions_of(index, layer))
                columns = measure_layer(
                    taken.layers.pop(layer), positions, plan.budgets
                )
                count = len(columns["budget"])
                columns["corpus"] = [text.corpus] * count
                columns["document"] = [text.name] * count
                tables.append(pa.table(columns, schema=SCHEMA))
    return pa.concat_tables(tables).combine_chunks()


def _layer_groups(plan, model):
    """Layer indices in groups whose captures stay near `CAPTURE_BYTES`."""
    config, length = model.config, plan.tokens
    width = getattr(config, "head_dim", None) or config.hidden_size // plan.heads
    one = length * (8 * plan.heads * width + 8 * plan.kv_heads * width + length)
    step = max(1, CAPTURE_BYTES // one)
    return [
        list(range(i, min(i + step, plan.layers))) for i in range(0, plan.layers, step)
    ]


def measure_layer(layer, positions, budgets):
    """Columns of all rows of one captured layer, rows of a head together.

    layer: `capture.LayerRows` of all T positions; positions: [K, P].
    """
    batch, k = _batch(layer, positions)
    fewest = int(batch.visible.sum(-1).min())
    needed = max(budgets) + MOST_EXTRAS
    if fewest < needed:
        raise PlanError(
            f"budgets: {max(budgets)} needs rows of {needed} keys, but "
            f"layer {layer.layer} looks back over {fewest}"
        )
    count, heads = positions.shape[1], len(layer.queries_hnd)
    per_row = _describe(batch)
    per_budget = _rules(batch, k, budgets, count)
    per_budget |= audits(layer, batch, k, positions, budgets)
    rows = heads * count
    shaped = {
        "layer": np.full((rows, len(budgets)), layer.layer),
        "head": np.arange(heads).repeat(count)[:, None].repeat(len(budgets), 1),
        "position": _per_head(positions, heads).reshape(-1, 1).repeat(len(budgets), 1),
        "budget": np.tile(budgets, (rows, 1)),
        **{
            name: x.reshape(-1, 1).repeat(len(budgets), 1)
            for name, x in per_row.items()
        },
        **{name: x.reshape(len(budgets), rows).T for name, x in per_budget.items()},
    }
    return {name: _nullable(x.reshape(-1)) for name, x in shaped.items()}


def _batch(layer, positions):
    """The chosen rows as a `Batch` [K, R P, S], and the keys [K, S, D]."""
    end = int(positions.max()) + 1
    k, v = (
        x[:, :end].double().contiguous() for x in (layer.keys_ksd, layer.values_ksd)
    )
    p = torch.stack(
        [weights_at(layer, head, at)[..., :end] for head, at in enumerate(positions)]
    )
    visible = layer.visible_ns[positions][..., :end].repeat(1, layer.group_size, 1)
    return Batch(p, v, visible), k


def _describe(batch):
    """What a row is like, whatever the budget: [K, n] each."""
    spread = (batch.p * batch.distance.square()).sum(-1).sqrt()
    return {
        "keys": batch.visible.sum(-1).numpy(),
        "mu_norm": batch.mu.norm(dim=-1).numpy(),
        "spread": spread.numpy(),
        "farthest": batch.distance.amax(-1).numpy(),
        "effective_keys": (1 / batch.p.square().sum(-1)).numpy(),
    }


def _rules(batch, k, budgets, count):
    """Masses and errors of every rule of `rows.select`, [budgets, K, n] each."""
    solved = [size for size in budgets if size <= LARGEST_SOLVED]
    shape = (len(budgets), *batch.p.shape[:2])
    found = {name: np.full(shape, np.nan) for name in PER_BUDGET}
    found["proved"] = np.full(shape, np.nan)
    found["swaps"] = np.zeros(shape)
    gathered = batch.p.gather(-1, batch.by_mass[..., : max(budgets)]).cumsum(-1)
    kept_mass = torch.stack([gathered[..., size - 1] for size in budgets])
    top = batch.prefix_errors(batch.by_mass, budgets)
    found["dropped_mass"] = (1 - kept_mass).clamp_min(0).numpy()
    found["top_error"], found["phi"] = top.numpy(), (top * kept_mass).numpy()
    votes = batch.p.unflatten(1, (-1, count)).sum(1).repeat(1, shape[2] // count, 1)
    found["vote_error"] = batch.prefix_errors(falling(votes), budgets).numpy()
    for i, size in enumerate(budgets):
        pool = batch.pool(size)
        gamma, weights = (x.flatten(0, 1) for x in batch.deviations(pool))
        gram = gamma @ gamma.mT
        _, error, swaps = loops.balance(
            gamma.numpy(), gram.numpy(), weights.numpy(), size
        )
        found["balanced_error"][i] = error.reshape(shape[1:])
        found["swaps"][i] = swaps.reshape(shape[1:])
        if size in solved:
            found["best_error"][i] = _best_errors(batch, pool, size)
            found["proved"][i] = True
    if solved:
        places = [budgets.index(size) for size in solved]
        lever = leverage_order(k, batch.visible[:, :count]).repeat(
            1, shape[2] // count, 1
        )
        found["leverage_error"][places] = batch.prefix_errors(lever, solved).numpy()
        supports, free = _free_supports(batch, solved)
        found["free_error"][places] = free
        for place, size, support in zip(places, solved, supports, strict=True):
            error, _ = batch.mask_errors(padded(batch.by_mass, support, size))
            found["frank_wolfe_error"][place] = error.numpy()
    return found


def _free_supports(batch, sizes, rounds=1000):
    """Supports [sizes, K, n, S] of Frank-Wolfe walks and free errors [sizes, K, n]."""
    per_head = [
        loops.free_supports(
            v.numpy(), mu.numpy(), seen.numpy(), np.array(sizes), rounds
        )
        for v, mu, seen in zip(batch.v, batch.mu, batch.visible, strict=True)
    ]
    supports, errors = zip(*per_head, strict=True)
    return torch.from_numpy(np.stack(supports, 1)), np.stack(errors, 1)


def padded(by_mass, support, size):
    """Supports [K, n, S] filled up to ``size`` keys by the heaviest others."""
    free = ~support.gather(-1, by_mass)
    wanted = size - support.sum(-1, keepdim=True)
    added = free & (free.cumsum(-1) <= wanted)
    return support | torch.zeros_like(support).scatter(-1, by_mass, added)


def _best_errors(batch, pool, size):
    """Exact best errors [K, n] within the pools.

    The keys outside a pool matter only through their mean, so a row shrinks to
    its pool and one more key that holds all the rest: mu stays the same.
    """
    heads = torch.arange(len(batch.v))[:, None, None]
    weights, values = batch.p.gather(-1, pool), batch.v[heads, pool]
    rest = (1 - weights.sum(-1, keepdim=True)).clamp_min(0)
    outside = batch.mu - (weights[..., None] * values).sum(-2)
    mean = torch.where(rest > 0, outside / rest.clamp_min(1e-300), batch.mu)
    best = best_subset(
        torch.cat([weights, rest], -1),
        torch.cat([values, mean[..., None, :]], -2),
        size,
        pool=torch.arange(pool.shape[-1]),
    )
    return best.error.numpy()


def _per_head(positions, heads):
    """Positions [K, P] repeated for the heads of each group: [H, P] array."""
    return positions.repeat_interleave(heads // len(positions), 0).numpy()


def _nullable(x):
    """NaN stands for "not measured": null in the table."""
    return pa.array(x, from_pandas=True)
