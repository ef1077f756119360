"""Eviction while decoding: against a simulation that keeps everything, and in bytes."""

from dataclasses import dataclass

import pytest
import torch
from engine_models import prompt, tiny
from transformers import DynamicCache

from kvteach import attention, engine, methods, models
from kvteach.budgets.uniform import Uniform


class Simulated:
    """TOVA by its text, on full caches: what is evicted is only hidden."""

    def __init__(self, model, tokens, entries):
        self.model, self.entries = model, entries
        self.cache = DynamicCache()
        self.allowed = {}  # layer -> [S] bool, the same for all heads
        self.forward(tokens[:-1], evict=False)
        self.last = self.forward(tokens[-1:], evict=True, first=True)

    def forward(self, tokens, evict, first=False):
        self.evict, self.first = evict, first
        with attention.replaced(self.model, self.attend), torch.no_grad():
            named = {models.cache_argument(self.model): self.cache}
            return self.model(tokens[None], **named).logits[0, -1]

    def attend(self, module, query, key, value, mask, scaling, **_):
        heads, rows = query.shape[1:3]
        length, index = key.shape[2], module.layer_idx
        allowed = self.allowed.get(index, torch.ones(0, dtype=torch.bool))
        allowed = torch.cat([allowed, torch.ones(length - len(allowed), dtype=torch.bool)])
        shared = heads // key.shape[1]
        keys = key[0].double().repeat_interleave(shared, 0)
        values = value[0].double().repeat_interleave(shared, 0)
        logits = query[0].double() @ keys.transpose(1, 2) * scaling
        position = torch.arange(length - rows, length)[:, None]
        seen = allowed & (torch.arange(length) <= position)
        weights = logits.masked_fill(~seen, -torch.inf).softmax(-1)
        out = weights @ values
        if self.evict:
            # After the prompt the newest row ranks everything before anything is gone.
            score = weights[:, -1].mean(0)
            score[-1] = torch.inf
            score[~allowed] = -1
            kept = score.argsort(descending=True, stable=True)[: self.entries]
            allowed = torch.zeros_like(allowed)
            allowed[kept] = True
            if self.first:  # its own output is made over what was kept
                again = logits[:, -1:].masked_fill(~allowed, -torch.inf).softmax(-1)
                out[:, -1:] = again @ values
        self.allowed[index] = allowed
        return out.transpose(0, 1)[None].to(query.dtype), None


@pytest.mark.parametrize("name", ["llama", "qwen3"])
@pytest.mark.parametrize("entries", [5, 12])
def test_tova_at_every_step_is_the_published_rule(name, entries):
    # The engine's prefill ranks over the whole model's full attention, layer by layer;
    # the simulation's first layer sees the same, later ones differ by what the held-out
    # token's output made of it. So: one layer, where both read the same hidden states.
    model = one_layer(name)
    tokens = prompt(30, seed=3)
    ours = engine.compress(model, tokens, "tova:every=1", entries)
    theirs = Simulated(model, tokens, entries)
    torch.testing.assert_close(ours.logits()[0, -1], theirs.last, rtol=1e-4, atol=1e-4)
    for token in prompt(25, seed=4):
        got = ours.logits(token[None])[0, -1]
        expected = theirs.forward(token[None], evict=True)
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
        held = ours.cache.layers[0]
        newest = torch.tensor([ours.tokens_bt.shape[1] - 1])
        positions = torch.cat([held.prefix.positions(0, 0), newest])
        assert positions.tolist() == theirs.allowed[0].nonzero()[:, 0].tolist()
        assert held.length == 1 and len(positions) == entries


def one_layer(name):
    model = tiny(name)
    config = type(model.config)(**{**model.config.to_dict(), "num_hidden_layers": 1,
                                   "layer_types": ["full_attention"]})
    torch.manual_seed(1)
    single = type(model)(config).eval()
    with torch.no_grad():
        for weight in single.parameters():
            if weight.ndim == 2:
                weight.mul_(4)
    return single


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("method", ["snapkv:window=8,every=16", "keydiff:every=16",
                                    "streaming:every=16"])
def test_bytes_stay_bounded_over_256_tokens(method, dtype):
    model = tiny("llama", dtype)
    session = engine.compress(model, prompt(80), method, 24)
    held, finite = [], True
    for token in prompt(256, seed=5):
        finite &= bool(torch.isfinite(session.logits(token[None])).all())
        held.append(session.held_bytes())
    assert finite
    # A cycle of 16 tokens repeats: what the second half held at most, the first half did.
    assert max(held[128:]) == max(held[64:128])
    # Per layer and KV head: 24 kept, room for 16 tokens and one, with the tail's slack of
    # 64 entries; a position each; 8 rows of 6 query heads.
    itemsize, dim, layers, heads = dtype.itemsize, 8, 4, 2
    entries = 2 * dim * itemsize
    most = layers * heads * (24 * (entries + 4) + 64 * entries + 8 * 3 * dim * itemsize)
    assert max(held) <= most
    once = engine.compress(model, prompt(80), method.replace("every=16", "every=None"), 24)
    once.logits(prompt(256, seed=5))
    assert max(held) < once.held_bytes()


def test_generate_fork_crop_and_a_failure_on_the_way(llama):
    session = engine.compress(llama, prompt(60), "snapkv:window=8,every=8", 20)
    branch = session.fork()
    text = session.generate(max_new_tokens=40, do_sample=False)[0]
    assert len(text) == 40
    step = []  # the same, a token at a time
    for _ in range(40):
        step.append(int(branch.logits(torch.tensor(step[-1:]) if step else None)[0, -1].argmax()))
    assert step == text.tolist()
    twice = session.generate(max_new_tokens=5, do_sample=False)[0]
    assert len(twice) == 5
    copies = session.fork(3)
    together = copies.generate(max_new_tokens=20, do_sample=False)
    assert (together == together[0]).all()

    before = session.fork()
    calls = []

    def fail(*arguments):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return original(*arguments)

    original = type(session.again).read
    session.again = _Again(fail, session.again)
    with pytest.raises(KeyboardInterrupt):
        session.generate(max_new_tokens=20, do_sample=False)
    session.again = before.again
    torch.testing.assert_close(session.logits(), before.logits())


@dataclass
class _Again:
    fail: object
    inner: object

    def read(self, *arguments):
        return self.fail(self.inner, *arguments)


@pytest.mark.parametrize(
    ("method", "error", "words"),
    [
        ("h2o:every=8", NotImplementedError, "all rows"),
        ("adakv:every=64", NotImplementedError, "equally many"),
        ("pyramidkv:every=64", NotImplementedError, "equally many"),
        ("certkv:every=64", NotImplementedError, "cannot take up more"),
        ("expected:every=600", NotImplementedError, "reads more"),
        ("kvzip:every=8", NotImplementedError, "reads more"),
        ("snapkv:every=8", ValueError, "64 rows"),
        ("tova:every=0", ValueError, "every"),
        ("tova:every=1.5", ValueError, "every"),
    ],
)
def test_what_cannot_evict_again_says_so(llama, method, error, words):
    with pytest.raises(error, match=words):
        engine.compress(llama, prompt(80), method, 20)


def test_prompts_are_read_one_at_a_time(llama):
    with pytest.raises(NotImplementedError, match="2 prompts"):
        engine.compress(llama, prompt(60, batch=2), "tova:every=1", 0.5)


def test_copies_that_end_at_different_times_leave_the_session_where_it_was(llama):
    """What fills up a sequence that has ended must never be kept as a key."""
    session = engine.compress(llama, prompt(60), "tova:every=1", 20).fork(4)
    torch.manual_seed(0)
    free = session.generate(max_new_tokens=24, do_sample=True)
    end = int(free[0, 9])
    torch.manual_seed(0)
    ended = session.generate(max_new_tokens=24, do_sample=True, eos_token_id=end)
    assert (ended[0, 10:] == 0).all() and (ended != 0).any(1).all()
    alone = engine.compress(llama, prompt(60), "tova:every=1", 20)
    later = prompt(20, seed=8)
    got, expected = session.logits(later), alone.logits(later)
    torch.testing.assert_close(got, expected.expand_as(got), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", ["tova:every=1", "snapkv:window=8,every=16"])
def test_a_short_prompt_and_a_long_answer_stay_in_the_budget(llama, method):
    session = engine.compress(llama, prompt(12), method, 40)
    held = []
    for token in prompt(200, seed=9):
        session.logits(token[None])
        held.append(session.held_bytes())
    layer = session.cache.layers[0]
    assert layer.prefix.keys_bkmd.shape[2] == 39
    assert max(held[100:]) <= max(held[:100])
    long = engine.compress(llama, prompt(100), method, 40)
    long.logits(prompt(1, seed=9))
    assert layer.length <= 17 and long.cache.layers[0].prefix.keys_bkmd.shape[2] == 39


def test_a_memory_is_paid_for_from_its_first_moment(llama):
    """Budget 40, slot of one: 39 keys and no slot are the most before it is needed."""
    session = engine.compress(llama, prompt(12), "tangent:window=8,every=8", 40)
    for token in prompt(60, seed=3):
        session.logits(token[None])
        for layer in session.cache.layers:
            slots = 0 if layer.rest is None else 1
            held = layer.prefix.keys_bkmd.shape[2]
            assert held + slots + 1 <= 40 + (8 if layer.rest is None else 0)
    assert layer.rest is not None and held == 38


def test_sinks_stay_inside_the_budget():
    score = torch.arange(12.0)[None].repeat(2, 1)
    (kept,) = Uniform(sinks=3)([score], 5, [0], 1)
    assert kept[0].nonzero()[:, 0].tolist() == [0, 1, 2, 10, 11]
    with pytest.raises(ValueError, match="3 must stay"):
        Uniform(sinks=3)([score], 2, [0], 1)
    assert methods.get("tova").every is None


def test_a_saved_session_goes_on_evicting(llama, tmp_path):
    session = engine.compress(llama, prompt(60), "snapkv:window=8,every=8", 20)
    session.logits(prompt(13, seed=6))
    session.save(tmp_path / "cache.safetensors")
    again = engine.restore(llama, tmp_path / "cache.safetensors")
    for token in prompt(20, seed=7):
        torch.testing.assert_close(again.logits(token[None]), session.logits(token[None]))
    assert again.held_bytes() == session.held_bytes()
    changed = engine.compress(llama, prompt(60), methods.get("tova", every=1), 20)
    with pytest.raises(ValueError, match="given as text"):
        changed.save(tmp_path / "other.safetensors")
