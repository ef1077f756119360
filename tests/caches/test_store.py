"""Every layout against masked dense attention written out in float64."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.caches import account, store
from kvteach.caches.layer import CompressedLayer

TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 2**-8, torch.float16: 2**-11}
"""Of the largest value: inputs are shared exactly, sums run in float32, and the output
is rounded once to the type."""


def brute_force(query_bhtd, keys, values, kept, tail_keys, tail_values, scaling, softcap=None):
    """Softmax attention head by head and row by row in float64, [B, T, H, D]."""
    batch, heads, rows, dim = query_bhtd.shape
    group = heads // keys.shape[1]
    output = torch.zeros(batch, rows, heads, dim, dtype=torch.float64)
    for b in range(batch):
        for h in range(heads):
            k = h // group
            for t in range(rows):
                new = tail_keys.shape[2] - rows + t + 1  # tail keys that row t may see
                seen_keys = torch.cat([keys[b, k][kept[b, k]], tail_keys[b, k, :new]]).double()
                seen = torch.cat([values[b, k][kept[b, k]], tail_values[b, k, :new]]).double()
                logits = seen_keys @ query_bhtd[b, h, t].double() * scaling
                if softcap is not None:
                    logits = softcap * torch.tanh(logits / softcap)
                output[b, t, h] = logits.softmax(0) @ seen
    return output


@st.composite
def cases(draw):
    """Random shapes; each head keeps none, one, all, or a random share of its keys."""
    seed = draw(st.integers(0, 2**31))
    batch, kv_heads = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    group = draw(st.sampled_from([1, 3, 4]))
    length, dim = draw(st.integers(1, 40)), draw(st.sampled_from([8, 12]))
    rows, earlier = draw(st.integers(1, 5)), draw(st.integers(0, 3))
    dtype = draw(st.sampled_from(list(TOLERANCE)))
    counts = [draw(st.sampled_from(["none", "one", "all", "some"]))
              for _ in range(batch * kv_heads)]
    g = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=g).to(dtype)

    kept = torch.rand(batch * kv_heads, length, generator=g) < 0.4
    for row, what in zip(kept, counts):
        if what != "some":
            row[:] = what == "all"
            if what == "one":
                row[torch.randint(length, (1,), generator=g)] = True
    return {
        "query_bhtd": 3 * normal(batch, kv_heads * group, rows, dim),
        "keys": normal(batch, kv_heads, length, dim),
        "values": normal(batch, kv_heads, length, dim),
        "kept": kept.view(batch, kv_heads, length),
        "tail_keys": normal(batch, kv_heads, earlier + rows, dim),
        "tail_values": normal(batch, kv_heads, earlier + rows, dim),
        "scaling": dim**-0.5,
        "softcap": draw(st.sampled_from([None, 5.0])),
    }


def layer_of(case, kind):
    """A layer with the case's prefix, whose tail came in two calls."""
    prefix = store.build(kind, case["keys"], case["values"], case["kept"])
    layer = CompressedLayer(prefix, case["keys"].shape[2])
    earlier = case["tail_keys"].shape[2] - case["query_bhtd"].shape[2]
    for part in (slice(0, earlier), slice(earlier, None)):
        if case["tail_keys"][:, :, part].shape[2]:
            layer.update(case["tail_keys"][:, :, part], case["tail_values"][:, :, part])
    return layer


@pytest.mark.parametrize("kind", store.KINDS)
@given(case=cases())
def test_attention_over_a_layout_is_masked_dense_attention(kind, case):
    layer = layer_of(case, kind)
    got = layer.attend(case["query_bhtd"], None, case["scaling"], case["softcap"])
    expected = brute_force(**case)
    assert got.dtype == case["query_bhtd"].dtype
    largest = max(case["values"].abs().max(), case["tail_values"].abs().max()).item()
    worst = (got.double() - expected).abs().max().item()
    assert worst <= TOLERANCE[got.dtype] * max(largest, 1.0)


@pytest.mark.parametrize("kind", store.KINDS)
@given(case=cases())
def test_counts_positions_and_selection(kind, case):
    layer = layer_of(case, kind)
    for b in range(len(case["kept"])):
        for k in range(case["kept"].shape[1]):
            where = case["kept"][b, k].nonzero()[:, 0]
            assert layer.prefix.counts()[b, k] == len(where)
            assert torch.equal(layer.prefix.positions(b, k), where)
    rows = torch.tensor([len(case["kept"]) - 1, 0, 0])
    picked = {k: v[rows] if isinstance(v, torch.Tensor) else v for k, v in case.items()}
    layer.batch_select_indices(rows)
    got = layer.attend(picked["query_bhtd"], None, case["scaling"], case["softcap"])
    again = layer_of(picked, kind).attend(
        picked["query_bhtd"], None, case["scaling"], case["softcap"])
    torch.testing.assert_close(got, again)


def test_bytes_of_each_layout():
    """Two heads keep 3 and 7 of 10 keys, D = 4, float32."""
    keys, values = torch.randn(2, 1, 2, 10, 4, generator=torch.Generator().manual_seed(1))
    kept = torch.zeros(1, 2, 10, dtype=torch.bool)
    kept[0, 0, [1, 4, 9]] = True
    kept[0, 1, [0, 1, 2, 5, 6, 7, 8]] = True

    def held(kind):
        return account.storage_bytes(store.build(kind, keys, values, kept).tensors().values())

    entry = 2 * 4 * 4
    assert held("masked") == 2 * 10 * (entry + 1)  # all keys, and a byte of mask for each
    assert held("padded") == 2 * 7 * (entry + 4 + 1)  # the widest, twice: position and mask
    assert held("ragged") == 10 * (entry + 4) + 2 * 8  # what is kept; start and count


def test_a_prefix_owns_its_storage():
    keys, values = torch.randn(2, 1, 2, 10, 4)
    for kind in store.KINDS:
        prefix = store.build(kind, keys, values, torch.ones(1, 2, 10, dtype=torch.bool))
        before = {name: t.clone() for name, t in prefix.tensors().items()}
        keys.add_(1), values.add_(1)
        assert all(torch.equal(before[name], t) for name, t in prefix.tensors().items())


def test_the_tail_can_be_cut_but_not_the_prefix():
    keys = torch.randn(1, 2, 10, 4)
    layer = CompressedLayer(store.build("ragged", keys, keys, torch.rand(1, 2, 10) < 0.5), 10)
    layer.update(keys[:, :, :3], keys[:, :, :3])
    layer.crop(-2)
    assert layer.get_seq_length() == 11
    for tokens in (-2, 1):
        with pytest.raises(ValueError, match="crop"):
            layer.crop(tokens)


@pytest.mark.parametrize("kept", [torch.ones(1, 2, 9, dtype=torch.bool), torch.ones(1, 2, 10)])
def test_masks_that_do_not_fit(kept):
    keys = torch.randn(1, 2, 10, 4)
    with pytest.raises(ValueError, match="kept"):
        store.build("ragged", keys, keys, kept)
    with pytest.raises(ValueError, match="store: 'flat'"):
        store.build("flat", keys, keys, torch.ones(1, 2, 10, dtype=torch.bool))
