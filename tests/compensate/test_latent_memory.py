"""The latent memory: its recurrence, its norms, its storage, its read, its refusals."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach import methods
from kvteach.compensate.latent_memory import EPSILON, NAMES, LatentMemory, Memory, evicted_mass
from kvteach.scores import observe
from kvteach.scores.layer import Layer

K, R, D, F, G = 2, 3, 6, 9, 5

SUMS = 1e-5
"""Float32 sums of under 100 products against float64, relative to the largest entry."""

seeds = st.integers(0, 2**32 - 1)


def generator_of(seed):
    return torch.Generator().manual_seed(seed)


def made_weights(generator, features=F, dim=D, heads=K, layers=1):
    """Random learned tensors of every layer, both kinds of read."""
    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    def one():
        return {
            "phi": draw(heads, features, dim),
            "gate.0.weight": draw(heads, G, dim),
            "gate.0.bias": draw(heads, G),
            "gate.2.weight": draw(heads, G),
            "gate.2.bias": draw(heads),
            "gate.share": draw(heads),
        }

    return SimpleNamespace(layers=[
        {prefix + name: t for prefix in ("memory.", "memory_by_share.")
         for name, t in one().items()}
        for _ in range(layers)
    ])


def made_layer(generator, length=24, size=1.0, dtype=torch.float32, index=0):
    """(layer, kept_ks, score_ks): the newest key held out, a third of the others kept."""
    def draw(heads):
        most = torch.finfo(dtype).max
        drawn = torch.randn(heads, length, D, generator=generator) * size
        return drawn.clamp(-most, most).to(dtype)

    layer = Layer(index, draw(K * R)[:, -1:], draw(K), draw(K), D**-0.5)
    score_ks = 2 * torch.randn(K, length, generator=generator)
    score_ks[:, -1] = torch.inf
    kept_ks = torch.rand(K, length, generator=generator) < 1 / 3
    kept_ks[:, -1] = True
    kept_ks[:, 0] = False  # every head evicts something
    return layer, kept_ks, score_ks


def by_loops(phi_fd, rounds, head, gamma, dim=D):
    """M, b and Z of one head as nested sums in float64: nothing recursive, no C."""
    last = len(rounds) - 1
    top = torch.zeros(len(phi_fd), dim, dtype=torch.float64)
    squares = torch.zeros(len(phi_fd), dtype=torch.float64)
    total = 0.0
    for t, (layer, kept_ks, score_ks) in enumerate(rounds):
        finite = [j for j in range(layer.length) if score_ks[head, j] != torch.inf]
        pi = score_ks[head, finite].double().softmax(0)
        for j, weight in zip(finite, pi):
            if kept_ks[head, j]:
                continue
            weight = weight * gamma ** (last - t)
            feature = phi_fd.double() @ layer.keys_ksd[head, j].double()
            top += weight * torch.outer(feature, layer.values_ksd[head, j].double())
            squares += weight * feature.square()
            total += float(weight)
    return top / total, squares / total, total


def written(rule, rounds):
    memory = None
    for round_ in rounds:
        memory = rule(*round_, memory)
    return memory


def explicit(memory):
    """M [K, F, D] and b [K, F] in float64, out of what is stored."""
    phi = memory.learned["phi"].double()
    return phi @ memory.moments_bkdd[0].double(), memory.norms_bkf[0].double().square()


def close(ours, expected, tolerance=SUMS):
    assert (ours - expected).abs().max() <= tolerance * expected.abs().max().clamp_min(1e-12)


@given(seeds, st.integers(1, 4), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_recursion_is_the_unrolled_sum(seed, count, gamma):
    generator = generator_of(seed)
    rule = LatentMemory(made_weights(generator), gamma)
    rounds = [made_layer(generator) for _ in range(count)]
    memory = written(rule, rounds)
    top, squares = explicit(memory)
    for head in range(K):
        want = by_loops(memory.learned["phi"][head], rounds, head, gamma)
        close(top[head], want[0])
        close(squares[head], want[1])
        assert float(memory.mass_bk[0, head]) == pytest.approx(want[2], rel=SUMS)


@given(seeds, st.integers(1, 4))
def test_mass_is_preserved(seed, count):
    """Where all evicted pairs are one pair, memory is that pair, whatever the masses."""
    generator = generator_of(seed)
    rounds = []
    for _ in range(count):
        layer, kept_ks, score_ks = made_layer(generator)
        layer.keys_ksd[:], layer.values_ksd[:] = 0.7, -1.3
        rounds.append((layer, kept_ks, 10 * score_ks))  # masses of many magnitudes
    memory = written(LatentMemory(made_weights(generator)), rounds)
    close(memory.moments_bkdd.double(), torch.full((1, K, D, D), 0.7 * -1.3).double())


@given(seeds, st.integers(1, 4), st.floats(1e-3, 1e3))
def test_norm_bounds(seed, count, size):
    """||M||_F <= max ||phi|| max ||v|| for any masses; ||m(q)|| <= sqrt(F) max ||v||."""
    generator = generator_of(seed)
    rule = LatentMemory(made_weights(generator))
    rounds = [made_layer(generator, size=size) for _ in range(count)]
    memory = written(rule, rounds)
    top, _ = explicit(memory)
    queries = torch.randn(1, K, 7, D, generator=generator) * size
    read = memory.read(queries)
    for head in range(K):
        phi = memory.learned["phi"][head].double()
        away = [(layer.keys_ksd[head][~kept[head]].double(),
                 layer.values_ksd[head][~kept[head]].double()) for layer, kept, _ in rounds]
        longest = max(float(v.norm(dim=1).max()) for _, v in away)
        feature = max(float((k @ phi.T).norm(dim=1).max()) for k, _ in away)
        assert top[head].norm() <= feature * longest * (1 + SUMS)
        assert read[0, head].norm(dim=-1).max() <= F**0.5 * longest * (1 + SUMS)


@given(seeds, st.sampled_from([2, D, 40]), st.booleans())
def test_read_through_small_storage_is_the_explicit_read(seed, features, root):
    """phi(q)' M with M of F x D numbers, gated: float64, a query at a time."""
    generator = generator_of(seed)
    rule = LatentMemory(made_weights(generator, features), root=root)
    rounds = [made_layer(generator) for _ in range(2)]
    memory = written(rule, rounds)
    queries = torch.randn(K, 5, D, generator=generator)
    ours = memory.outside(queries)
    w = {name: t.double() for name, t in memory.learned.items()}
    want = torch.zeros(K, 5, D, dtype=torch.float64)
    for head in range(K):
        top, squares, _ = by_loops(w["phi"][head], rounds, head, rule.gamma)
        for i, query in enumerate(queries[head].double()):
            feature = w["phi"][head] @ query
            under = feature.square() @ squares + EPSILON
            hidden = w["gate.0.weight"][head] @ query + w["gate.0.bias"][head]
            logit = w["gate.2.weight"][head] @ torch.nn.functional.gelu(hidden)
            gate = (logit + w["gate.2.bias"][head]).sigmoid()
            want[head, i] = gate * (feature @ top) / (under.sqrt() if root else under)
    # With two features the denominator may nearly vanish, which magnifies rounding.
    close(ours.double(), want, 1e-4)


@given(seeds, st.floats(0.5, 1e3))
def test_read_does_not_depend_on_the_size_of_queries_and_features(seed, size):
    generator = generator_of(seed)
    weights = made_weights(generator)
    round_ = made_layer(generator)
    queries = torch.randn(1, K, 4, D, generator=generator)
    plain = LatentMemory(weights)(*round_).read(queries)
    for layer in weights.layers:
        layer["memory.phi"] = layer["memory.phi"] * size
    scaled = LatentMemory(weights)(*round_).read(queries * size)
    close(scaled.double(), plain.double(), 1e-4)  # EPSILON, and rounding


@given(seeds)
def test_plain_sums_without_masses(seed):
    """IndexMem's write: gamma times what was there, and one for every evicted key."""
    generator = generator_of(seed)
    rounds = [made_layer(generator) for _ in range(3)]
    memory = written(LatentMemory(made_weights(generator), by_mass=False), rounds)
    want = torch.zeros(K, D, D, dtype=torch.float64)
    for layer, kept_ks, _ in rounds:
        pairs = torch.einsum("ksa,ksb->ksab", layer.keys_ksd.double(), layer.values_ksd.double())
        want = 0.9 * want + (pairs * ~kept_ks[..., None, None]).sum(1)
    close(memory.moments_bkdd[0].double(), want)


@given(seeds)
def test_share_is_what_is_gone(seed):
    generator = generator_of(seed)
    weights = made_weights(generator)
    rounds = [made_layer(generator) for _ in range(2)]
    rule = LatentMemory(weights, by_share=True)
    first = rule(*rounds[0])
    mass, _ = evicted_mass(rounds[0][1], rounds[0][2])
    close(first.share_bk[0], mass)  # one eviction: mu of it, 1 - mu is left
    both = rule(*rounds[1], first)
    latest, _ = evicted_mass(rounds[1][1], rounds[1][2])
    close(both.share_bk[0], (0.9 * mass + latest) / (0.9 * mass + latest + 1 - latest))
    queries = torch.randn(1, K, 4, D, generator=generator)
    blind = Memory(*list(vars(both).values())[:3], None, both.learned)
    odds = (both.share_bk / (1 - both.share_bk)).log() * both.learned["gate.share"]
    want = (blind.gate(queries).logit() + odds[..., None]).sigmoid()
    close(both.gate(queries), want, 1e-4)  # logit of a sigmoid, in float32


@given(seeds)
def test_masses_are_a_softmax_over_all_candidates(seed):
    _, kept_ks, score_ks = made_layer(generator_of(seed))
    mass, weight = evicted_mass(kept_ks, score_ks)
    for head in range(K):
        finite = score_ks[head].isfinite()
        pi = score_ks[head][finite].double().softmax(0)
        gone = ~kept_ks[head][finite]
        close(mass[head].double(), pi[gone].sum())
        close(weight[head][finite].double(), pi * gone / pi[gone].sum())


def test_a_head_that_evicts_nothing_adds_nothing(generator):
    layer, kept_ks, score_ks = made_layer(generator)
    kept_ks[0] = True
    rule = LatentMemory(made_weights(generator))
    memory = rule(layer, kept_ks, score_ks)
    out = memory.outside(torch.randn(K, 4, D, generator=generator))
    assert (out[0] == 0).all() and (out[1] != 0).any()
    again = rule(layer, kept_ks, score_ks, memory)
    assert (again.outside(torch.randn(K, 4, D, generator=generator))[0] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("by_mass", [True, False])
@pytest.mark.parametrize("size", [1e-4, 1.0, 2e4])
def test_never_nan_over_many_rounds(generator, dtype, by_mass, size):
    """Keys and values of 2e4: their products, 4e8, are no float16 numbers."""
    rule = LatentMemory(made_weights(generator), by_mass=by_mass, by_share=True)
    memory = None
    for _ in range(30):
        memory = rule(*made_layer(generator, size=size, dtype=dtype), memory)
        assert memory.moments_bkdd.dtype == memory.norms_bkf.dtype == dtype
        out = memory.outside(torch.randn(K, 8, D, generator=generator) * size)
        assert out.isfinite().all()
    assert memory.mass_bk.max() <= 10 + SUMS  # 1 / (1 - gamma)


@pytest.mark.parametrize("dtype, rounding", [(torch.bfloat16, 2**-8), (torch.float16, 2**-11)])
def test_half_precision_rounds_the_state_only(generator, dtype, rounding):
    """One write of the same numbers: every entry within half a step of its own size."""
    weights = made_weights(generator)
    layer, kept_ks, score_ks = made_layer(generator, dtype=dtype)
    wide = Layer(0, layer.queries_htd.float(), layer.keys_ksd.float(),
                 layer.values_ksd.float(), layer.scaling)
    rule = LatentMemory(weights)
    ours, full = rule(layer, kept_ks, score_ks), rule(wide, kept_ks, score_ks)
    assert torch.equal(ours.mass_bk, full.mass_bk)
    for name in ("moments_bkdd", "norms_bkf"):
        got, want = getattr(ours, name).float(), getattr(full, name)
        assert ((got - want).abs() <= rounding * want.abs() + 1e-7).all()


def test_sequences_stay_apart(generator):
    rule = LatentMemory(made_weights(generator), by_share=True)
    each = [rule(*made_layer(generator)) for _ in range(3)]
    queries = torch.randn(3, K, 4, D, generator=generator)
    together = Memory.stack(each)
    out = together.outside(queries.flatten(0, 1)).view(3, K, 4, D)
    for one, memory in enumerate(each):
        close(out[one], memory.outside(queries[one]))
    picked = together.select(torch.tensor([2, 0, 2]))
    for place, one in enumerate((2, 0, 2)):
        for name, tensor in picked.tensors().items():
            assert torch.equal(tensor[place], each[one].tensors()[name][0])


def test_charge_covers_the_state(generator):
    """In a half-precision model, whose keys are worth least."""
    for features, dim in ((64, 64), (126, 64), (512, 128), (3, 8)):
        weights = made_weights(generator, features, dim)
        rule = LatentMemory(weights, by_share=True)
        layer = Layer(0, torch.zeros(K, 1, dim).half(), torch.ones(K, 5, dim).half(),
                      torch.ones(K, 5, dim).half(), 1.0)
        kept_ks = torch.tensor([[False, True, False, False, True]]).expand(K, 5)
        memory = rule(layer, kept_ks, torch.zeros(K, 5))
        held = sum(t.numel() * t.itemsize for t in memory.tensors().values())
        key = 2 * dim * 2
        assert (rule.charge(dim) - 1) * key * K < held <= rule.charge(dim) * key * K
    assert LatentMemory(made_weights(generator, 64, 64)).charge(64) == 33


def test_what_engine_and_files_ask_for(generator):
    weights = made_weights(generator, layers=2)
    rule = LatentMemory(weights)
    assert rule.repeats and rule.window == 0 and not rule.hidden
    memory = rule(*made_layer(generator, index=1))
    assert memory.slots(torch.zeros(K, 1, D), None) is None
    assert set(memory.weights()) == set(NAMES[:5])
    assert torch.equal(memory.weights()["phi"], weights.layers[1]["memory.phi"])
    assert not set(memory.tensors()) & set(memory.weights())


def test_refusals(generator):
    weights = made_weights(generator)
    for gamma in (-0.1, 1.1):
        with pytest.raises(ValueError, match="gamma"):
            LatentMemory(weights, gamma)
    with pytest.raises(ValueError, match="memory.phi"):
        LatentMemory(SimpleNamespace(layers=[{}]))
    with pytest.raises(ValueError, match="1 layers; layer 4"):
        LatentMemory(weights)(*made_layer(generator, index=4))
    with pytest.raises(ValueError, match="dimension 8"):
        LatentMemory(made_weights(generator, dim=8))(*made_layer(generator))


def test_bounds_and_recursion_on_real_rows(bundled, speech):
    """The shipped memory, three layers: two evictions of the same text's two halves.

    Float32 sums of 200 products with keys of length 20: 1e-4 of the largest entry.
    """
    rule = methods.get("core").compensate
    generator = generator_of(14)
    for layer in observe.layers(bundled.model, speech[:384], [0, 13, 29]):
        rounds = []
        for part in (slice(0, 192), slice(192, 384)):
            half = replace(layer, queries_htd=layer.queries_htd[:, part],
                           keys_ksd=layer.keys_ksd[:, part], values_ksd=layer.values_ksd[:, part])
            score_ks = half.weights(191, 192)[:, 0].log().view(3, 3, -1).mean(1)
            score_ks[:, -1] = torch.inf
            kept_ks = torch.rand(3, 192, generator=generator) < 0.25
            kept_ks[:, -1] = True
            rounds.append((half, kept_ks, score_ks))
        memory = written(rule, rounds)
        read = memory.read(layer.queries_htd[:, -16:].reshape(1, 3, -1, 64))
        top, _ = explicit(memory)
        for head in range(3):
            phi = memory.learned["phi"][head]
            want, squares, mass = by_loops(phi, rounds, head, rule.gamma, 64)
            close(top[head], want, 1e-4)
            close(explicit(memory)[1][head], squares, 1e-4)
            away = [(one.keys_ksd[head][~kept[head]], one.values_ksd[head][~kept[head]])
                    for one, kept, _ in rounds]
            longest = max(float(v.norm(dim=1).max()) for _, v in away)
            feature = max(float((k @ phi.T).norm(dim=1).max()) for k, _ in away)
            assert top[head].norm() <= feature * longest * (1 + SUMS)
            assert read[0, head].norm(dim=-1).max() <= 8 * longest * (1 + SUMS)
