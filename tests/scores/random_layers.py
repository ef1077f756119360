"""Random layers, and the plain float64 mathematics that rules are compared with."""

from dataclasses import dataclass

import torch

from kvteach.scores.layer import Layer

SHAPES = [(4, 4), (6, 2), (8, 2)]
"""(H, K) with group sizes 1, 3 and 4."""


@dataclass
class Made:
    """A layer, and what it was made from before rotary embedding, float64."""

    layer: Layer
    queries_hsd: torch.Tensor
    keys_ksd: torch.Tensor
    frequencies: torch.Tensor  # radians a position, one for each rotary pair


def random_layer(
    generator, heads=6, kv_heads=2, length=40, dim=8, rotary=8, rows=None,
    ranking=None, dtype=torch.float32, size=1.0, softcap=None, index=3,
):
    """A layer of Gaussian numbers, keys ``size`` times as long."""
    def gauss(count):
        return torch.randn(count, length, dim, generator=generator, dtype=torch.float64)

    queries, keys, values = gauss(heads), gauss(kv_heads) * size, gauss(kv_heads)
    frequencies = 2.0 ** -torch.arange(rotary // 2, dtype=torch.float64)
    angles = torch.arange(length)[:, None] * frequencies
    cos, sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
    rows = length if rows is None else rows
    layer = Layer(
        index,
        rotated(queries, cos, sin)[:, length - rows :].to(dtype),
        rotated(keys, cos, sin).to(dtype),
        values.to(dtype),
        dim**-0.5,
        ranking=ranking,
        softcap=softcap,
        cos_sd=cos.to(dtype) if rotary else None,
        sin_sd=sin.to(dtype) if rotary else None,
    )
    return Made(layer, queries, keys, frequencies)


def rotated(states_hsd, cos_sd, sin_sd):
    """Rotary embedding as Llama has it, on the first dimensions."""
    rotary = cos_sd.shape[1]
    turning, rest = states_hsd[..., :rotary], states_hsd[..., rotary:]
    one, two = turning.chunk(2, -1)
    turned = turning * cos_sd + torch.cat([-two, one], -1) * sin_sd
    return torch.cat([turned, rest], -1)


def attention(layer):
    """All recorded rows' weights in float64, [H, T, S]."""
    queries, keys = layer.queries_htd.double(), layer.keys_ksd.double()
    out = torch.zeros(len(queries), queries.shape[1], layer.length, dtype=torch.float64)
    for head, query_td in enumerate(queries):
        key_sd = keys[head // layer.group_size]
        for row, query_d in enumerate(query_td):
            seen = layer.length - len(query_td) + row + 1
            logits = key_sd[:seen] @ query_d * layer.scaling
            if layer.softcap is not None:
                logits = layer.softcap * torch.tanh(logits / layer.softcap)
            out[head, row, :seen] = logits.softmax(0)
    return out


def group_mean(score_hs, layer):
    """[H, S] to [K, S], one group after the other."""
    size = layer.group_size
    groups = [score_hs[k : k + size].mean(0) for k in range(0, len(score_hs), size)]
    return torch.stack(groups)


def close(ours, expected, tolerance=1e-5):
    """Float32 sums against float64: 1e-5 of the largest expected finite score.

    Weights of float32 logits below 20 are off by 1e-6 relatively; sums of 40 to 300
    of them, pooled and multiplied, stay within ten times that.
    """
    assert ours.dtype == torch.float32
    assert ours.shape == expected.shape
    assert torch.equal(ours.isposinf(), expected.isposinf())
    finite = ~expected.isposinf()
    if finite.any():
        off = (ours.double() - expected)[finite].abs().max()
        assert off <= tolerance * expected[finite].abs().max().clamp_min(1e-12), float(off)
