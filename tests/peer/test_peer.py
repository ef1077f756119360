"""Our rules beside NVIDIA's kvpress 0.5.5, on the same models and tokens.

`make peer` recorded what kvpress scored and kept, in an environment of its own. Here
our rules read the same layers again, with another version of transformers.

How close is close enough says `our_layers`.
"""

from dataclasses import replace
from math import ceil

import pytest
import torch
from our_layers import HERE, RATIO, RECORDED, largest, same_kept, same_scores, share

from kvteach.budgets.adakv import AdaKV
from kvteach.budgets.chunks import WholeChunks
from kvteach.budgets.pyramid import PyramidKV
from kvteach.budgets.topk import top_k
from kvteach.budgets.uniform import Uniform
from kvteach.scores.chunkkv import ChunkKV
from kvteach.scores.compactor import Compactor
from kvteach.scores.expected import ExpectedAttention
from kvteach.scores.h2o import H2O
from kvteach.scores.keydiff import KeyDiff
from kvteach.scores.knorm import KNorm
from kvteach.scores.snapkv import SnapKV
from kvteach.scores.streaming import StreamingLLM
from kvteach.scores.tova import TOVA

WINDOW = {"tiny": 16, "bundled": 64}
TILE = {"tiny": 85, "bundled": 96}  # divides the keys between Compactor's ends


def test_recorded_with_the_pinned_versions():
    pins = dict(
        line.split("==")
        for line in (HERE.parents[1] / "requirements-peer.txt").read_text().splitlines()
        if "==" in line
    )
    recorded = RECORDED["versions"]
    for name, pinned in pins.items():
        assert recorded[name].split("+")[0] == pinned


def test_real_text_and_all_layers(both, request):
    name, found = both
    assert len(found.layers) == found.model.config.num_hidden_layers
    if name == "bundled":
        from kvteach import corpora

        tokenizer = request.getfixturevalue("bundled").tokenizer
        document = corpora.documents("english")[120]
        assert document.name == found.recorded["document"]
        assert torch.equal(document.tokens(tokenizer, 300), found.tokens)


# --- rules that score one layer -----------------------------------------------------

RULES = {
    "observed": lambda name: H2O(recent=0, per_row=True),
    "tova": lambda name: TOVA(),
    "snapkv": lambda name: SnapKV(window=WINDOW[name]),
    "knorm": lambda name: KNorm(),
    "keydiff": lambda name: KeyDiff(),
    "expected": lambda name: ExpectedAttention(),
}


@pytest.mark.parametrize("press", RULES)
def test_scores_and_kept_sets(both, press):
    name, found = both
    rule = RULES[press](name)
    for index in found.chosen:
        layer = found.layers[index]
        score = rule(layer)
        same_scores(score, found.peer(press, "score", index))
        (kept,) = Uniform()([score], share(layer.length), [index], len(found.layers))
        same_kept(kept, found.peer(press, "kept", index), score)


def test_streaming_keeps_the_same_keys(both):
    """Its scores are positions here and zeros and ones there: only the sets compare."""
    _, found = both
    for index in found.chosen:
        layer = found.layers[index]
        kept = top_k(StreamingLLM()(layer), share(layer.length))
        assert torch.equal(kept, found.peer("streaming", "kept", index))


def test_h2o_has_a_recent_half_and_kvpress_has_none(both):
    """Deviation. ObservedAttention forces no recent key; H2O's paper gives them half.

    The rule that does agree is H2O(recent=0, per_row=True), above.
    """
    _, found = both
    missed = 0
    for index in found.chosen:
        layer = found.layers[index]
        size = share(layer.length)
        recent = slice(layer.length - size // 2, layer.length)
        assert top_k(H2O()(layer), size)[:, recent].all()
        missed += int((~found.peer("observed", "kept", index)[:, recent]).sum())
    assert missed > 0


# --- Compactor ----------------------------------------------------------------------


def unscaled(layer):
    """kvpress leaves 1 / sqrt(D) out of Compactor's logits."""
    return replace(layer, scaling=1.0)


def test_compactor_where_no_tile_is_padded(both):
    """With its logits and whole tiles, kvpress and we say the same.

    The Gaussian matrix is the same: the recording seeds each layer as we do. Leverage
    solves with a Gram matrix plus .01; where keys lie near a subspace, as in layer 0
    of the bundled model, its condition of some 1e5 leaves 1e-4 of a float32 score.
    """
    name, found = both
    rule = Compactor(blend=RATIO, tile=TILE[name])
    for index in found.chosen:
        layer = found.layers[index]
        score = rule(unscaled(layer))
        same_scores(score, found.peer("compactor_tiles", "score", index), 5e-4)
        kept = top_k(score, share(layer.length))
        peer = found.peer("compactor_tiles", "kept", index)
        same_kept(kept, peer, score, 5e-4)


def as_shipped(rule, layer):
    """Compactor with the padding of kvpress: logits without 1 / sqrt(D), and in the
    last tile columns of logit -1e-9, and as many rows of uniform weight."""
    begin, end = rule.first, layer.length - rule.last
    queries = layer.queries_htd[:, begin:end].double()
    keys = layer.keys_ksd[:, begin:end].double().repeat_interleave(layer.group_size, 0)
    mass = []
    for start in range(0, end - begin, rule.tile):
        tile = slice(start, start + rule.tile)
        logits = queries[:, tile] @ keys[:, tile].transpose(1, 2)
        missing = rule.tile - logits.shape[1]
        padded = torch.nn.functional.pad(logits, (0, missing), value=-1e-9).softmax(-1)
        mass.append(padded[..., : logits.shape[1]].sum(1) + missing / rule.tile)
    grouped = torch.cat(mass, 1).unflatten(0, (len(layer.keys_ksd), -1)).mean(1)
    drawn = grouped * layer.values_ksd[:, begin:end].double().norm(dim=-1)
    pooled = torch.nn.functional.avg_pool1d(drawn, 3, stride=1, padding=1)
    leverage = rule.leverage(layer, begin, end).double()
    parts = [(x - x.mean()) / x.std() for x in (leverage, pooled)]
    return rule.blend * parts[0] + parts[1]


def test_compactor_as_shipped_scores_the_padding_too(both):
    """Deviation. Temperature and padding account for all that differs from kvpress."""
    _, found = both
    rule = Compactor(blend=RATIO)
    for index in found.chosen:
        layer = found.layers[index]
        peer = found.peer("compactor", "score", index)[:, rule.first : -rule.last]
        same_scores(as_shipped(rule, layer).float(), peer, 5e-4)
        ours = rule(layer)[:, rule.first : -rule.last]
        assert (ours - peer).abs().max() > 0.01 * largest(peer)


# --- budgets over SnapKV ------------------------------------------------------------


def test_chunkkv(both):
    """Whole chunks of 20. kvpress rounds chunks, not keys: it may keep a few more."""
    name, found = both
    for index in found.chosen:
        layer = found.layers[index]
        score = ChunkKV(SnapKV(window=WINDOW[name]))(layer)
        entries = ceil(layer.length * (1 - RATIO))
        rule = WholeChunks(as_published=True)
        (kept,) = rule([score], entries, [index], len(found.layers))
        assert torch.equal(kept, found.peer("chunkkv", "kept", index))


@pytest.mark.parametrize(
    "press, window, beta, ratio",
    [
        ("pyramidkv", None, 20, RATIO),  # falls back to a uniform budget
        ("pyramidkv_ramp", 8, 4, RATIO),
        ("pyramidkv_cut", 8, 20, RATIO / 2),  # the first layer would get too many
    ],
)
def test_pyramidkv(both, press, window, beta, ratio):
    """kvpress takes S (1 - ratio) as it is, where our budget is a whole number."""
    name, found = both
    window = window or WINDOW[name]
    depth, length = len(found.layers), len(found.tokens)
    rule = PyramidKV(beta=beta, as_published=True)
    counts = []
    for index in found.chosen:
        score = SnapKV(window=window)(found.layers[index])
        count = rule.count(length * (1 - ratio), length, window, index, depth)
        counts.append(count)
        peer = found.peer(press, "kept", index)
        assert (peer.sum(1) == count).all()
        same_kept(top_k(score, count), peer, score)
    assert (len(set(counts)) == 1) == (press == "pyramidkv")


def test_adakv(both):
    name, found = both
    uneven = False
    for index in found.chosen:
        layer = found.layers[index]
        score = SnapKV(window=WINDOW[name])(layer)
        (kept,) = AdaKV()([score], share(layer.length), [index], len(found.layers))
        same_kept(kept, found.peer("adakv", "kept", index), score)
        uneven |= len(set(kept.sum(1).tolist())) > 1
    assert uneven
