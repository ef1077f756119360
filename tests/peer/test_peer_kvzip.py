"""KVzip, and scores learned from it, beside kvpress 0.5.5 (see test_peer)."""

from dataclasses import replace

import pytest
import torch
from our_layers import RATIO, same_kept, same_scores
from transformers import DynamicCache

from kvteach import models
from kvteach.budgets.topk import pooled_top_k
from kvteach.scores.fastkvzip import FastKVzip
from kvteach.scores.fitted import Fitted
from kvteach.scores.kvzap import KVzap
from kvteach.scores.kvzip import Instruction, KVzip

FIRST = "\n\nRepeat the previous context exactly."
LATER = "\n\nRepeat the part of the previous context exactly, starting with"


def instruction(name, request, answer):
    """What the peer's tokenizer made of its request; the tiny model's takes letters."""
    if name == "bundled":
        words = Instruction.of(request.getfixturevalue("bundled").tokenizer)
        assert words.answer == tuple(answer)
        return words
    letters = (tuple(ord(letter) % 64 for letter in text) for text in (FIRST, LATER))
    return Instruction(*letters, tuple(answer))


@pytest.mark.parametrize("press", ["kvzip", "kvzip_layerwise", "kvzip_plus"])
def test_kvzip(both, request, press):
    """Three chunks, one chunk, and the normalised form; kept sets over all layers."""
    name, found = both
    known = found.recorded[press]
    rule = KVzip(
        chunk=known["chunk"],
        prefix=known["prefix"],
        plus=press == "kvzip_plus",
        instruction=instruction(name, request, known["answer"]),
    )
    cache = DynamicCache()
    models.read(found.model, found.tokens, cache)
    scores = torch.stack(rule.replay(found.model, found.tokens, cache))
    if press == "kvzip_layerwise":
        size = scores[0].numel()
        kept = [pooled_top_k(score, size - int(size * RATIO)) for score in scores]
    else:
        kept = pooled_top_k(scores, scores.numel() - int(scores.numel() * RATIO))
    for index in found.chosen:
        same_scores(scores[index], found.peer(press, "score", index))
        same_kept(kept[index], found.peer(press, "kept", index), scores[index])


def weights(found, prefix):
    """Recorded tensors under a prefix, one dict a layer."""
    layers = [{} for _ in found.layers]
    for name, tensor in found.tensors.items():
        if name.startswith(prefix):
            index, rest = name.removeprefix(prefix).split(".", 1)
            layers[int(index)][rest] = tensor
    assert all(layers)
    return Fitted(layers)


def test_fastkvzip(tiny):
    """Random gates in the published form. What must stay is +inf here and 1 there."""
    rule = FastKVzip(gates=weights(tiny, "fastkvzip/gate/"))
    scores = torch.stack([rule(layer) for layer in tiny.layers])
    kept = pooled_top_k(scores, scores.numel() - int(scores.numel() * RATIO))
    for index in tiny.chosen:
        same_scores(scores[index], tiny.peer("fastkvzip", "score", index))
        same_kept(kept[index], tiny.peer("fastkvzip", "kept", index), scores[index])


@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_kvzap(tiny, kind):
    """kvpress evicts below a threshold, 0 here, but for the last 20 keys."""
    rule = KVzap(network=weights(tiny, f"kvzap_{kind}/gate/layers."), recent=20)
    for layer in tiny.layers:
        score = rule(layer)
        peer = tiny.peer(f"kvzap_{kind}", "score", layer.index)
        same_scores(replace(rule, recent=0)(layer), peer)
        assert torch.equal(score >= 0, tiny.peer(f"kvzap_{kind}", "kept", layer.index))
        assert score[:, -20:].isposinf().all()
