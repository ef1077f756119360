"""A latent memory in the engine: equal bytes, repeated eviction, half precision, files."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kvteach import engine
from kvteach.budgets.uniform import Uniform
from kvteach.compensate.latent_memory import LatentMemory
from kvteach.methods import Method
from kvteach.scores.tova import TOVA

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))
from engine_models import prompt, tiny

DIM, HEADS, LAYERS, GROUP = 8, 2, 4, 3
FEATURES, HIDDEN = 12, 5


def weights(features=FEATURES):
    generator = torch.Generator().manual_seed(11)

    def draw(*shape):
        return torch.randn(HEADS, *shape, generator=generator)

    def one():
        return {"phi": draw(features, DIM), "gate.0.weight": draw(HIDDEN, DIM),
                "gate.0.bias": draw(HIDDEN), "gate.2.weight": draw(HIDDEN),
                "gate.2.bias": draw(), "gate.share": draw()}

    return SimpleNamespace(layers=[
        {prefix + name: t for prefix in ("memory.", "memory_by_share.")
         for name, t in one().items()}
        for _ in range(LAYERS)
    ])


def method(every=None, **options):
    rule = LatentMemory(weights(), **options)
    return Method("with memory", TOVA(), Uniform(sinks=2), "padded", compensate=rule, every=every)


def test_memory_is_paid_for_in_keys():
    model = tiny("llama")
    plain = Method("plain", TOVA(), Uniform(sinks=2), "padded")
    ours = engine.compress(model, prompt(80), method(), 30)
    theirs = engine.compress(model, prompt(80), plain, 30)
    charge = method().compensate.charge(DIM)
    assert charge == 5  # 64 + 12 + 4 numbers, 16 a key
    assert ours.cache.layers[0].prefix.keys_bkmd.shape[2] == 29 - charge
    assert ours.held_bytes() <= theirs.held_bytes()
    rest = ours.cache.layers[2].rest
    held = sum(t.numel() * t.itemsize for t in rest.tensors().values())
    assert held <= charge * HEADS * 2 * DIM * 4


@pytest.mark.parametrize("by_share", [False, True])
def test_attention_is_what_is_kept_plus_the_read(by_share):
    """The first token decoded after an eviction, layer 0, by hand in float64."""
    model = tiny("llama")
    session = engine.compress(model, prompt(60), method(by_share=by_share), 20)
    session.logits()
    layer = session.cache.layers[0]
    generator = torch.Generator().manual_seed(2)
    query = torch.randn(1, HEADS * GROUP, 1, DIM, generator=generator)
    got = layer.attend(query, None, DIM**-0.5)[0, 0].double()
    prefix, rest = layer.prefix, layer.rest
    for head in range(HEADS * GROUP):
        k = head // GROUP
        tail = slice(0, layer.length)
        keys = torch.cat([prefix.keys_bkmd[0, k], layer.keys[0, k, tail]]).double()
        values = torch.cat([prefix.values_bkmd[0, k], layer.values[0, k, tail]]).double()
        scaled = query[0, head, 0].double() * DIM**-0.5
        phi = rest.learned["phi"][k].double()
        feature = phi @ scaled
        under = feature.square() @ rest.norms_bkf[0, k].double().square()
        read = feature @ phi @ rest.moments_bkdd[0, k].double() / under.sqrt()
        queries = (query * DIM**-0.5).view(1, HEADS, GROUP, DIM)
        gate = rest.gate(queries)[0, k, head % GROUP].double()
        want = (keys @ scaled).softmax(0) @ values + gate * read
        assert torch.allclose(got[head], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("options", [{}, {"by_share": True}, {"root": False, "by_mass": False}])
def test_bytes_stay_bounded_over_256_tokens_without_nan(dtype, options):
    session = engine.compress(tiny("llama", dtype), prompt(80), method(16, **options), 24)
    held, finite = [], True
    for token in prompt(256, seed=5):
        finite &= bool(torch.isfinite(session.logits(token[None])).all())
        held.append(session.held_bytes())
    assert finite
    # A cycle of 16 tokens repeats: the second half holds at most what the first did.
    assert max(held[128:]) == max(held[64:128])
    masses = torch.stack([layer.rest.mass_bk for layer in session.cache.layers])
    assert (masses > 0).all() and (masses <= 10).all()  # mu / (1 - gamma), mu <= 1


def test_memory_of_every_round_is_the_recurrence():
    """Two evictions while decoding, against the rule called by hand."""
    model = tiny("llama")
    session = engine.compress(model, prompt(60), method(8), 20)
    before = session.cache.layers[1].rest
    calls = []
    rule = LatentMemory.__call__

    def noted(self, layer, kept_ks, score_ks, before=None):
        made = rule(self, layer, kept_ks, score_ks, before)
        calls.append((layer.index, before, made))
        return made

    LatentMemory.__call__ = noted
    try:
        session.logits(prompt(20, seed=8)[None, :1])
        for token in prompt(20, seed=9):
            session.logits(token[None])
    finally:
        LatentMemory.__call__ = rule
    mine = [(old, made) for index, old, made in calls if index == 1]
    assert len(mine) == 2
    assert torch.equal(mine[0][0].moments_bkdd, before.moments_bkdd)
    assert torch.equal(mine[1][0].mass_bk, mine[0][1].mass_bk)
    assert torch.equal(session.cache.layers[1].rest.moments_bkdd, mine[1][1].moments_bkdd)


def test_batches_forks_and_files(tmp_path):
    model = tiny("llama")
    tokens = prompt(60, batch=2)
    together = engine.compress(model, tokens, method(by_share=True), 20)
    alone = [engine.compress(model, t, method(by_share=True), 20) for t in tokens]
    together.save(tmp_path / "cache.safetensors")
    back = engine.restore(model, tmp_path / "cache.safetensors")
    torch.testing.assert_close(back.logits(), together.logits())
    step = prompt(12, seed=3)
    for token in step:
        logits = together.logits(token.expand(2, 1))
        for row, one in enumerate(alone):
            # Batched products of float32 sum in another order.
            torch.testing.assert_close(
                logits[row], one.logits(token[None])[0], rtol=1e-3, atol=1e-3
            )
    again = engine.compress(model, tokens[0], method(8), 20)
    branches = again.fork(2)
    for token in step:  # one more eviction on the way, in each on its own
        logits = branches.logits(token.expand(2, 1))
        torch.testing.assert_close(
            logits[0], again.logits(token[None])[0], rtol=1e-3, atol=1e-3
        )
