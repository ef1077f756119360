"""Training of the latent memory: its data, its forward pass, what it learns and reports."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

from kvteach.compensate.latent_memory import LatentMemory
from kvteach.compile import memory
from kvteach.scores import observe

LATER, SHARE = 6, 0.5

SUMS = 1e-4
"""Float16 targets aside, float32 sums of under 100 numbers against float64."""

HALF = 2**-10
"""Evictions and weights are stored in float16: two roundings of 2**-11."""


@pytest.fixture(scope="module")
def model():
    """Two layers, two KV heads, attention sharp enough that evictions matter."""
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=61, hidden_size=48, intermediate_size=40, num_hidden_layers=2,
        num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=128,
    )
    made = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            if weight.ndim == 2:
                weight.mul_(4)
    return made


@pytest.fixture(scope="module")
def documents():
    generator = torch.Generator().manual_seed(5)
    return list(torch.randint(3, 61, (5, 46), generator=generator))


class LastLogits:
    """A score that is a logit: how the last row sees the keys, mean over heads."""

    def __call__(self, layer):
        length = layer.length
        said_hs = layer.weights(length - 1, length)[:, 0].log().clamp_min(-20)
        return said_hs.mean(0).expand(len(layer.keys_ksd), -1).clone()


RULE = LastLogits()


def test_outputs_are_attention_with_and_without_the_evicted(model, documents):
    layer = observe.layers(model, documents[0], [1])[0]
    prefix = layer.length - LATER
    kept_ks = torch.rand(2, prefix, generator=torch.Generator().manual_seed(1)) < 0.5
    kept_ks[:, 0] = True
    full, kept = memory.outputs(layer, kept_ks)
    for head in range(6):
        keys, values = (t[head // 3].double() for t in (layer.keys_ksd, layer.values_ksd))
        stays = torch.cat([kept_ks[head // 3], torch.ones(LATER, dtype=torch.bool)])
        for row in range(LATER):
            seen = prefix + row + 1
            logits = keys[:seen] @ layer.queries_htd[head, prefix + row].double() * layer.scaling
            want = logits.softmax(0) @ values[:seen]
            assert torch.allclose(full[head, row].double(), want, atol=SUMS)
            logits = logits.masked_fill(~stays[:seen], -torch.inf)
            want = logits.softmax(0) @ values[:seen]
            assert torch.allclose(kept[head, row].double(), want, atol=SUMS)


@pytest.mark.parametrize("by_share", [False, True])
def test_training_reads_as_the_deployed_memory_does(model, documents, by_share):
    """The reduced data, C and Q, give what a memory of all keys gives, for any weights."""
    data = memory.evictions(model, documents[:2], RULE, LATER, (SHARE,), (1.0,))
    fitted = memory.fit(data, torch.Generator().manual_seed(2), features=11, steps=0,
                        by_share=by_share)
    rule = LatentMemory(SimpleNamespace(layers=fitted), by_share=by_share)
    prefix = memory.PREFIXES[by_share]
    learned = {name.removeprefix(prefix): torch.stack([x[name] for x in fitted]).float()
               for name in fitted[0]}
    ours = memory.answers(learned, data.pick(slice(None)))
    for number, tokens in enumerate(documents[:2]):
        for layer in observe.layers(model, tokens):
            before = observe.prefix(layer, layer.length - LATER)
            score_ks = memory.observed(RULE, before)
            kept_ks = memory.best(score_ks, int(SHARE * before.length))
            rows = slice(-LATER, None, memory.STRIDE)
            queries = layer.queries_htd[:, rows].reshape(2, -1, 8) * layer.scaling
            want = rule(before, kept_ks, score_ks).outside(queries)
            got = ours[layer.index, :, number]
            assert (got - want).abs().max() <= 20 * HALF * want.abs().max()
            full, kept = memory.outputs(layer, kept_ks)
            lost = data.lost[layer.index, :, number].float()
            want = (full - kept)[:, rows].reshape(lost.shape)
            assert torch.allclose(lost, want, rtol=HALF, atol=1e-4)


def test_halves_of_documents_come_after_them(model, documents):
    both = memory.evictions(model, documents[:2], RULE, LATER, (0.5, 0.25))
    assert len(both) == 8
    half = [tokens[:23] for tokens in documents[:2]]
    alone = memory.evictions(model, half, RULE, LATER, (0.5, 0.25), (1.0,))
    for name in ("moments", "squares", "queries", "lost", "mass"):
        got = getattr(both, name)[:, :, [2, 3, 6, 7]].float()
        want = getattr(alone, name).float()  # the same pass over fewer tokens
        assert (got - want).abs().max() <= 4 * HALF * want.abs().max()


def test_sinks_and_the_newest_key_stay(model, documents):
    layer = observe.layers(model, documents[0], [0])[0]
    score_ks = memory.observed(RULE, layer)
    for entries in (1, 10):
        kept_ks = memory.best(score_ks, entries)
        assert (kept_ks.sum(1) == max(entries, memory.SINKS + 1)).all()
        assert kept_ks[:, [0, 1, 2, 3, -1]].all()


def learned_of(fitted):
    return {name.removeprefix("memory."): torch.stack([x[name] for x in fitted]).float()
            for name in fitted[0]}


def test_it_learns_and_the_seed_decides(model, documents):
    """What another memory would have answered is learned to a twentieth of its squares."""
    data = memory.evictions(model, documents, RULE, LATER, (0.5, 0.25))

    def fit(seed, steps):
        return memory.fit(data, torch.Generator().manual_seed(seed), steps=steps, rate=0.02)

    some = data.pick(slice(None))
    data = replace(data, lost=memory.answers(learned_of(fit(9, 0)), some))

    def loss(fitted):
        off = data.lost - memory.answers(learned_of(fitted), some)
        return float(off.square().mean() / data.lost.square().mean())

    assert loss(fit(1, 0)) > 0.2 > 0.05 > loss(fit(1, 300))
    one, same, other = fit(1, 20), fit(1, 20), fit(2, 20)
    assert all(torch.equal(a, b) for x, y in zip(one, same) for a, b in zip(x.values(), y.values()))
    assert not torch.equal(one[0]["memory.phi"], other[0]["memory.phi"])


def test_train_gives_both_reads(model, documents):
    layers = memory.train(model, documents[:2], RULE, torch.Generator().manual_seed(1),
                          later=LATER, steps=2, features=7, hidden=5)
    assert len(layers) == 2
    shapes = {"phi": [2, 7, 8], "gate.0.weight": [2, 5, 8], "gate.0.bias": [2, 5],
              "gate.2.weight": [2, 5], "gate.2.bias": [2]}
    want = {"memory." + name: shape for name, shape in shapes.items()}
    want |= {"memory_by_share." + n: s for n, s in (shapes | {"gate.share": [2]}).items()}
    assert {name: list(t.shape) for name, t in layers[0].items()} == want
    assert all(t.dtype == torch.float16 for t in layers[1].values())


def test_judge_compares_at_equal_bytes(model, documents):
    weights = SimpleNamespace(layers=memory.train(
        model, documents[:2], RULE, torch.Generator().manual_seed(1), later=LATER, steps=1))
    charge = LatentMemory(weights).charge(8)
    errors, sizes = memory.judge(model, documents[2:4], RULE, weights, LATER, (0.5,))
    assert errors.shape == (2, 1, 2, 4) and sizes.shape == (2, 2)
    for number, tokens in enumerate(documents[2:4]):
        for layer in observe.layers(model, tokens):
            before = observe.prefix(layer, layer.length - LATER)
            score_ks = memory.observed(RULE, before)
            for column, entries in enumerate((20, 20 - charge)):
                full, kept = memory.outputs(layer, memory.best(score_ks, entries))
                want = (full - kept).square().sum()
                assert torch.allclose(errors[number, 0, layer.index, column], want)
            assert torch.allclose(sizes[number, layer.index], full.square().sum())
    assert (errors[..., 2] != errors[..., 1]).all() and (errors[..., 3] != errors[..., 2]).all()


def test_refusals(model, documents):
    generator = torch.Generator().manual_seed(1)
    with pytest.raises(ValueError, match="documents: of several lengths"):
        memory.train(model, [documents[0], documents[1][:-1]], RULE, generator)
    with pytest.raises(ValueError, match="shares"):
        memory.train(model, documents, RULE, generator, shares=(0.5, 1.0))
