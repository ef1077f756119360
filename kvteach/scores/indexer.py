"""CORE's student: a small network guesses the teacher from fourteen cheap numbers a key.

The teacher (`kvteach.scores.coverage`) wants rows that come later and a fixed point.
The student sees the last block of rows and, for each position of a layer, how much it
was asked for, how crowded its surroundings are, and how old and how long it is. CORE
(arXiv 2610.02235) and the authors' code; `kvteach.compile.indexer` trains it.
"""

import functools
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from kvteach.scores import coverage, fitted
from kvteach.scores.fitted import Fitted

FEATURES = (
    "most", "top 4", "positive mean", "recent top 4", "share of rows",
    "share of groups", "occupancy", "to prototype", "margin", "deviation",
    "age", "sink", "value", "decoding",
)  # fmt: skip
"""What the columns of `features` say, in order."""

TENSORS = {f"{i}.{part}": 2 - (part == "bias") for i in (0, 2, 4)
           for part in ("weight", "bias")}  # fmt: skip
"""Names of one layer's tensors and their numbers of dimensions."""

PREFIX = "indexer."
"""What these names begin with in the file that also holds the memory's."""

SINKS = 4
TOP = 4
RECENT = 16
PROTOTYPES = 64
SHRINKAGE = 0.1
_FLOOR = math.log(1e-8)  # of the advantage: a weight that small says nothing


@dataclass(frozen=True)
class Indexer:
    """score_ki = the layer's network on key i's features, the same for every head.

        score = W_4 gelu(W_2 gelu(W_0 f + b_0) + b_2) + b_4,   14 -> 128 -> 128 -> 1

    network: None takes the one trained on the bundled model. f are the `features` of
    the last ``window`` rows. Scores are finite everywhere, sinks too: softmax(score)
    is one distribution over all candidates, for the Top-B and for the memory's
    writes. Let the budget force the sinks (`Uniform(sinks=4)`).

    [K, S] float32. Cost 2 H window S D FLOP for the features and 37,000 S for the
    network. Raises ValueError for a network of another depth and for fewer rows than
    the window.
    """

    network: Fitted | None = None
    window: int = 128

    hidden = False

    def __post_init__(self):
        if self.window < 1:
            raise ValueError(f"window: {self.window}; need at least 1 row")

    def __call__(self, layer):
        network = self.network or shipped()
        weights = _of(network, layer)
        score_s = surrogate(weights, features(layer, self.window))
        return score_s.expand(len(layer.keys_ksd), -1).clone()


def features(layer, window=128, seed=0):
    """What the network reads of each position: [S, 14] float32, see `FEATURES`.

    Six of demand, from the advantage a_ti = log p_ti + log(keys that row t sees), the
    mean of a group's four largest query heads (or all), never below log 1e-8: its
    maximum over rows t and groups; mean of the 4 largest; mean of the positive; mean
    of the 4 largest of the last 16 rows; share of rows with a positive one; share of
    groups whose largest quarter of rows is positive on average. Rows that do not see
    the key count as log 1e-8, the numbers 4 and a quarter as of those that do.

    Four of coverage, from z = `coverage.representation`: log(1 + keys that share the
    nearest of 64 random directions), 1 - cosine to it, margin to the second; log(1 +
    mean of the squared standardised coordinates), in a Hadamard basis with random
    signs, variances shrunk by .1 to their mean. Directions are those of centred z.

    Four more: log(1 + age) / log(1 + oldest age); 1 for the first 4 positions (the
    authors also flag special tokens, which a layer does not know); log(1 + |v|^2 / D),
    mean over heads; 1 while decoding. A layer decodes when it has ``positions_ks``.

    The list is published, details are the authors' code's. Ours: the window, where
    they read all rows of a prompt; other draws of the random directions; the age of
    keys in heads that keep different ones is a mean.
    """
    z_sz = coverage.representation(layer, seed=seed)
    columns = [*_demand(layer, window), *_crowd(z_sz, seed), *_age_and_length(layer)]
    return torch.stack(columns, 1)


def _demand(layer, window):
    """The six columns of query-key relations."""
    kv_heads = len(layer.keys_ksd)
    advantage_kst, visible_s, recent_s = _advantages(layer, window)
    rows = advantage_kst.shape[2]
    pairs_sx = advantage_kst.transpose(0, 1).flatten(1)
    recent_sx = advantage_kst[..., -RECENT:].transpose(0, 1).flatten(1)
    positive_sx = pairs_sx.clamp_min(0)
    count_s = (pairs_sx > 0).sum(1)
    quarter_ks = _top_mean(advantage_kst, (visible_s / 4).ceil())
    return (
        pairs_sx.amax(1),
        _top_mean(pairs_sx, (visible_s * kv_heads).clamp_max(TOP)),
        positive_sx.sum(1) / count_s.clamp_min(1),
        _top_mean(recent_sx, (recent_s * kv_heads).clamp_max(TOP)),
        (advantage_kst.amax(0) > 0).sum(1) / rows,
        (quarter_ks > 0).float().mean(0),
    )


def _advantages(layer, window):
    """[K, S, T], and how many of the rows, of the last 16, see each key (1 or more)."""
    first, last = layer.rows(window)
    sees_t = torch.arange(first + 1, last + 1, device=layer.keys_ksd.device)
    log_p_hts = layer.logits(first, last).log_softmax(-1)
    log_p_hts += sees_t.log()[:, None]
    log_p_hts = torch.logaddexp(log_p_hts, log_p_hts.new_tensor(_FLOOR))
    advantage_kts = coverage.over_heads(log_p_hts, len(layer.keys_ksd))
    key_s = torch.arange(layer.length, device=sees_t.device)
    visible_s = last - key_s.clamp_min(first)
    recent_s = last - key_s.clamp_min(max(first, last - RECENT))
    advantage_kst = advantage_kts.transpose(1, 2).contiguous()
    return advantage_kst, visible_s.clamp_min(1), recent_s.clamp_min(1)


def _top_mean(value_sx, count_s):
    """Mean of the ``count_s`` largest along the last axis."""
    count_s = count_s.long()
    most = min(int(count_s.max()), value_sx.shape[-1])
    sums = value_sx.topk(most).values.cumsum(-1)
    at = (count_s - 1).expand(sums.shape[:-1])[..., None]
    return sums.gather(-1, at)[..., 0] / count_s


def _crowd(z_sz, seed):
    """The four columns of coverage."""
    prototypes_pz, signs_z = _directions(z_sz.shape[1], seed)
    x_sz = F.normalize(z_sz - z_sz.mean(0), dim=1, eps=1e-6)
    near = (x_sz @ prototypes_pz.T.to(z_sz.device)).topk(2)
    nearest_s = near.indices[:, 0]
    crowd_s = nearest_s.bincount(minlength=PROTOTYPES)[nearest_s].float()
    turned_sz = _hadamard(z_sz * signs_z.to(z_sz.device))
    variance_z = turned_sz.var(0, unbiased=False)
    shrunk_z = torch.lerp(variance_z, variance_z.mean(), SHRINKAGE) + 1e-8
    deviation_s = ((turned_sz - turned_sz.mean(0)).square() / shrunk_z).mean(1)
    cosine_s = near.values[:, 0]
    return (
        crowd_s.log1p(),
        1 - cosine_s,
        cosine_s - near.values[:, 1],
        deviation_s.log1p(),
    )


@functools.lru_cache(maxsize=4)
def _directions(dim, seed):
    """64 random unit vectors and random signs."""
    generator = torch.Generator().manual_seed(seed)
    prototypes = torch.randn(PROTOTYPES, dim, generator=generator)
    signs = torch.randint(2, (dim,), generator=generator) * 2.0 - 1
    return F.normalize(prototypes, dim=1), signs


def _hadamard(x_sz):
    """x times the orthonormal Hadamard matrix of its width, a power of two."""
    width = x_sz.shape[1]
    half = 1
    while half < width:
        pairs = x_sz.view(len(x_sz), -1, 2, half)
        x_sz = torch.stack(
            [pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2
        ).reshape(len(x_sz), width)
        half *= 2
    return x_sz / width**0.5


def _age_and_length(layer):
    """The four columns of what a key is without queries."""
    device = layer.keys_ksd.device
    decoding = layer.positions_ks is not None
    where_ks = layer.positions_ks if decoding else torch.arange(layer.length)[None]
    where_ks = where_ks.to(device).float()
    newest = where_ks.max()
    age_s = (newest - where_ks).log1p().mean(0) / newest.clamp_min(1).log1p()
    squares_ks = layer.values_ksd.float().square().mean(-1)
    return (
        age_s,
        (where_ks < SINKS).float().mean(0),
        squares_ks.log1p().mean(0),
        torch.full_like(age_s, float(decoding)),
    )


def surrogate(weights, feature_nf):
    """What one layer's network says of N keys, [N]."""
    inner = F.gelu(F.linear(feature_nf, weights["0.weight"], weights["0.bias"]))
    inner = F.gelu(F.linear(inner, weights["2.weight"], weights["2.bias"]))
    return F.linear(inner, weights["4.weight"], weights["4.bias"])[..., 0]


def load(path):
    """The student in a file of `kvteach compile core`, as `Fitted`.

    Raises ValueError where the file holds something else.
    """
    both = fitted.read(path)
    layers = [
        {name.removeprefix(PREFIX): tensor for name, tensor in layer.items()
         if name.startswith(PREFIX)}
        for layer in both.layers
    ]  # fmt: skip
    fitted.require(path, layers, TENSORS)
    return Fitted(layers, both.about)


@functools.lru_cache(maxsize=1)
def shipped():
    """The student of the bundled model."""
    return load(fitted.shipped("core"))


def _of(network, layer):
    """One layer's weights in float32 on its device; ValueError for another depth."""
    config = getattr(layer.module, "config", None)
    depth = getattr(config, "num_hidden_layers", len(network.layers))
    if len(network.layers) != depth or layer.index >= depth:
        raise ValueError(
            f"network: trained for {network.about.get('model', 'another model')} with "
            f"{len(network.layers)} layers; this model has {max(depth, layer.index + 1)}"
        )
    wide = {"device": layer.keys_ksd.device, "dtype": torch.float32}
    return {name: t.to(**wide) for name, t in network.layers[layer.index].items()}
