"""Rollouts: what a continuation loses when a prompt is cut by given tables.

A prompt is read once; then any number of (head weights, thresholds) is tried on it, as
a batch. Every layer and head takes its action at the same time, so one rollout is a
record for each of them.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from transformers import Cache

from kvteach import attention, models
from kvteach.budgets.risk_gate import elastic
from kvteach.caches import store
from kvteach.caches.layer import CompressedLayer
from kvteach.rows.utility import alpha, rho, spread, veto
from kvteach.scores.layer import Layer
from kvteach.scores.stabilised import Stabilised


@dataclass(frozen=True)
class Prompt:
    """A prompt of T tokens that has been read, and C tokens that follow it."""

    keys: list  # layer -> [1, K, T, D]
    values: list
    utility_lkt: torch.Tensor  # alpha times rho, float64
    following: torch.Tensor  # [C + 1] ids; the first is the prompt's last token
    entropy: float  # of alpha, nats
    perplexity: float  # of the window's tokens
    loss: float  # nats a token of the continuation, over the full cache

    @property
    def length(self):
        """T."""
        return self.keys[0].shape[2]


def read(model, tokens, continuation=128, window=64):
    """Read ``tokens`` [T + continuation] once; returns the `Prompt`.

    window: last rows of the prompt that alpha and the perplexity are taken over. Cost: one
    pass; 4 L K T D bytes stay in bfloat16. Raises ValueError for fewer tokens than
    window + continuation + 1, NotImplementedError for layers that slide over a window.
    """
    length = len(tokens) - continuation
    if continuation < 1 or window < 1 or length <= window:
        raise ValueError(
            f"tokens: {len(tokens)}; need more than window + continuation = "
            f"{window} + {continuation}, each at least 1"
        )
    rule = Stabilised(window)
    keys, values, rows = {}, {}, {}

    def attend(module, query, key, value, mask, scaling, **others):
        index, sliding = module.layer_idx, others.get("sliding_window")
        if sliding is not None and sliding < key.shape[2]:
            raise NotImplementedError(
                f"layer {index} slides over {sliding} keys: no table can cut it"
            )
        keys[index] = key[:, :, :length].clone()
        values[index] = value[:, :, :length].clone()
        last = query[0, :, length - window : length]
        rows[index] = rule(Layer(index, last, keys[index][0], values[index][0], scaling))
        return attention.sdpa(module, query, key, value, mask, scaling, **others)

    ids = tokens[None].to(model.device)
    scored = window + continuation
    with attention.replaced(model, attend), torch.no_grad():
        logits = model(ids, use_cache=False, logits_to_keep=scored + 1).logits[0]
    nats = F.cross_entropy(logits[:-1].float(), ids[0, -scored:], reduction="none")
    layers = sorted(keys)
    alpha_t = alpha(torch.stack([rows[i] for i in layers]))
    return Prompt(
        [keys[i] for i in layers],
        [values[i] for i in layers],
        torch.stack([alpha_t * rho(values[i][0]) for i in layers]),
        ids[0, length - 1 :],
        spread(alpha_t).item(),
        nats[:window].double().mean().exp().item(),
        nats[window:].double().mean().item(),
    )


def roll(model, prompt, weights_rlk, thresholds_rl, count, batch=7):
    """Losses of R rollouts, and the keys over the budget before it cuts.

    weights_rlk, thresholds_rl: the tables' entries that a rollout tries; count: keys a
    layer may keep, its last one included. Returns (loss_r, over_rl, kept_rl): nats a
    token of the continuation, keys at or above the threshold beyond ``count``, and keys
    kept, float64 and int64 on the CPU.

    Cost: a pass over C tokens a rollout. Raises ValueError for count < 1.
    """
    if count < 1:
        raise ValueError(f"count: {count} keys; need at least 1")
    results = [
        _together(model, prompt, weights, thresholds, count)
        for weights, thresholds in zip(
            weights_rlk.split(batch), thresholds_rl.split(batch)
        )
    ]
    return tuple(torch.cat(parts) for parts in zip(*results))


def _together(model, prompt, weights_rlk, thresholds_rl, count):
    """The rollouts of one batch."""
    utility_rlt = veto(prompt.utility_lkt, weights_rlk.to(prompt.utility_lkt))
    wanted_rl = (utility_rlt >= thresholds_rl[..., None]).sum(-1)
    kept_rlt = elastic(utility_rlt, thresholds_rl, count)
    layers = [
        _compressed(keys, values, kept_rlt[:, index])
        for index, (keys, values) in enumerate(zip(prompt.keys, prompt.values))
    ]

    def attend(module, query, key, value, mask, scaling, **others):
        layer = layers[module.layer_idx]
        return layer.attend(query, mask, scaling, others.get("softcap")), None

    ids, wanted = prompt.following[:-1], prompt.following[1:]
    places = torch.arange(len(ids), device=ids.device) + prompt.length - 1
    rollouts = len(weights_rlk)
    with attention.replaced(model, attend, capped=True), torch.no_grad():
        logits = model(
            ids.expand(rollouts, -1),
            position_ids=places.expand(rollouts, -1),
            **{models.cache_argument(model): Cache(layers=layers)},
        ).logits
    losses = [F.cross_entropy(each.float(), wanted).double() for each in logits]
    over_rl = (wanted_rl - count).clamp_min(0)
    return torch.stack(losses).cpu(), over_rl.cpu(), kept_rlt.sum(-1).cpu()


def _compressed(key, value, kept_rt):
    """One layer of R rollouts; the last token is read again with the continuation."""
    shape = (len(kept_rt), *key.shape[1:])
    prefix = store.build(
        "padded",
        key.expand(shape)[:, :, :-1],
        value.expand(shape)[:, :, :-1],
        kept_rt[:, None, :-1].expand(shape[0], shape[1], -1),
    )
    return CompressedLayer(prefix, key.shape[2] - 1)
