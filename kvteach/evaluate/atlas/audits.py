"""What deployed rules keep of the rows of one layer, at s = 8.

Each rule chooses anew for every row, from what it would know there.
"""

import numpy as np
import torch

from kvteach.evaluate.atlas.batch import weights_at
from kvteach.evaluate.atlas.plan import AUDITED
from kvteach.rows import deployed

AUDITS = tuple(
    f"{rule}_{what}" for rule in deployed.RULES for what in ("error", "mass")
)


def audits(layer, batch, k, positions, budgets):
    """Error and dropped mass of every deployed rule at s = 8, [budgets, K, n] each."""
    shape = (len(budgets), *batch.p.shape[:2])
    found = {name: np.full(shape, np.nan) for name in AUDITS}
    if AUDITED not in budgets:
        return found
    at = budgets.index(AUDITED)
    kept = {rule: torch.zeros_like(batch.visible) for rule in deployed.RULES}
    window = AUDITED // 2
    for head, places in enumerate(positions):
        sums = received(layer, head, places)
        recent = weights_at(
            layer, head, (places[:, None] - torch.arange(window)).flip(1).flatten()
        )
        recent = recent.unflatten(0, (-1, window))
        for row in range(batch.p.shape[1]):
            seen = batch.visible[head, row]
            query_head = head * layer.group_size + row // len(places)
            past = {"h2o": sums[row : row + 1], "snapkv": recent[row]}
            for rule, keep in deployed.RULES.items():
                kept[rule][head, row, seen] = keep(
                    batch.p[head, row, seen],
                    AUDITED,
                    past_p=past[rule][:, : len(seen)][:, seen]
                    if rule in past
                    else None,
                    q=layer.queries_hnd[query_head, places[row % len(places)]].double(),
                    k=k[head, seen],
                )
    for rule, mask in kept.items():
        error, mass = batch.mask_errors(mask)
        found[f"{rule}_error"][at], found[f"{rule}_mass"][at] = (
            error.numpy(),
            mass.numpy(),
        )
    return found


def received(layer, kv_head, at, rows=512):
    """Mass that every key has received up to each position, [R * n, S] float64."""
    length = len(layer.positions)
    total = torch.zeros(layer.group_size, len(at), length, dtype=torch.float64)
    for start in range(0, length, rows):
        some = torch.arange(start, min(start + rows, length))
        p = weights_at(layer, kv_head, some).unflatten(0, (layer.group_size, -1))
        total += (some <= at[:, None]).double() @ p
    return total.flatten(0, 1)
