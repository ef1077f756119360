"""Compactor: keys in rare directions stay, and keys that their surroundings need.

Chari and Van Durme, "Compactor: Calibrated Query-Agnostic KV Cache Compression with
Approximate Leverage Scores" (arXiv 2507.08143). Two scores that no question has
influenced are standardised and added.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from kvteach.scores.layer import over_groups


@dataclass(frozen=True)
class Compactor:
    """score = blend z(leverage) + z(surroundings), [K, S] float32.

    leverage_j = x_j' (X'X + jitter I)^-1 x_j, the rows x_j of X being keys before
    rotary embedding, centred, times a Gaussian matrix to ``sketch`` dimensions.
    surroundings_j = pool_3 of ||v_j|| times the group mean of the weight that j
    draws, summed over all rows of its tile of ``tile`` tokens, later and earlier
    alike. z(x) = (x - mean) / deviation over all heads of the layer. The ``first``
    and ``last`` keys are +inf and take no part.

    blend: kvpress uses the share of keys to be evicted, and .35 if there is none; a
    score knows no budget, so .35 is the default. seed: of the Gaussian matrix, drawn
    by a generator of this rule's own, seeded with seed + the layer's index.

    Deviations from kvpress 0.5.5, which leaves the factor 1 / sqrt(D) out of the
    logits and lets the padding of the last tile take part, as keys of logit 0 and as
    rows that look everywhere alike: here logits are the model's own (but never
    soft-capped), and there is no padding. Where no tile is padded and the scaling is
    1, the scores are the same.

    Cost 2 H S tile D + 2 K S sketch (D + 2 sketch) FLOP, 4 H tile^2 bytes a tile.

    Raises ValueError for parameters out of range.
    """

    blend: float = 0.35
    sketch: int = 48
    tile: int = 256
    first: int = 8
    last: int = 4
    seed: int = 0

    window = None
    hidden = False
    unrotates = True

    def __post_init__(self):
        for name, least in (("sketch", 1), ("tile", 1), ("first", 0), ("last", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: {getattr(self, name)}; need {least} or more")

    def __call__(self, layer):
        kv_heads, length = layer.keys_ksd.shape[:2]
        device = layer.keys_ksd.device
        score_ks = torch.full((kv_heads, length), torch.inf, device=device)
        begin, end = self.first, length - self.last
        if end > begin:
            leverage = _standardised(self.leverage(layer, begin, end))
            surroundings = _standardised(self.surroundings(layer, begin, end))
            score_ks[:, begin:end] = self.blend * leverage + surroundings
        return score_ks

    def leverage(self, layer, begin, end):
        """Leverage of keys begin .. end - 1 among themselves, [K, end - begin]."""
        keys_ksd = layer.unrotated(layer.keys_ksd[:, begin:end], begin)
        keys_ksd -= keys_ksd.mean(1, keepdim=True)
        kv_heads, _, dim = keys_ksd.shape
        generator = torch.Generator().manual_seed(self.seed + layer.index)
        gauss_kdx = torch.randn(kv_heads, dim, self.sketch, generator=generator)
        x_ksx = keys_ksd @ (gauss_kdx / self.sketch**0.5).to(keys_ksd.device)
        lower_kxx = _cholesky(x_ksx.transpose(1, 2) @ x_ksx)
        solved_kxs = torch.linalg.solve_triangular(
            lower_kxx, x_ksx.transpose(1, 2), upper=False
        )
        return solved_kxs.square().sum(1)

    def surroundings(self, layer, begin, end):
        """Weight from rows of the same tile, times ||v||, pooled; [K, end - begin]."""
        heads, kv_heads = layer.queries_htd.shape[0], layer.keys_ksd.shape[0]
        mass_hs = layer.keys_ksd.new_zeros(heads, end - begin, dtype=torch.float32)
        for start in range(begin, end, self.tile):
            stop = min(start + self.tile, end)
            mass_hs[:, start - begin : stop - begin] = _mass_of_tile(layer, start, stop)
        lengths_ks = torch.linalg.vector_norm(
            layer.values_ksd[:, begin:end].float(), dim=-1
        )
        drawn_ks = over_groups(mass_hs, kv_heads) * lengths_ks
        return F.avg_pool1d(drawn_ks, 3, stride=1, padding=1)


def _mass_of_tile(layer, start, stop):
    """[H, stop - start]: weights of the tile's rows that may rank, both directions."""
    offset = layer.length - layer.queries_htd.shape[1]
    rows = slice(max(start - offset, 0), max(min(stop, layer.last_row) - offset, 0))
    queries_htd = layer.queries_htd[:, rows].float() * layer.scaling
    keys_ksd = layer.keys_ksd[:, start:stop].float()
    heads, count, dim = queries_htd.shape
    logits = queries_htd.reshape(len(keys_ksd), -1, dim) @ keys_ksd.transpose(1, 2)
    return logits.softmax(-1).view(heads, count, stop - start).sum(1)


def _cholesky(gram_kxx):
    """Lower factor of gram + jitter I; the jitter grows tenfold until it exists."""
    eye = torch.eye(gram_kxx.shape[-1], device=gram_kxx.device)
    for jitter in (1e-2, 1e-1, 1.0, 10.0):
        lower_kxx, failed = torch.linalg.cholesky_ex(gram_kxx + jitter * eye)
        if not failed.any():
            return lower_kxx
    return torch.linalg.cholesky(gram_kxx + 100.0 * eye)


def _standardised(score_ks):
    """Mean 0 and deviation 1 over all heads and keys; constant scores become 0."""
    deviation = score_ks.std() if score_ks.numel() > 1 else score_ks.new_zeros(())
    return (score_ks - score_ks.mean()) / deviation.clamp_min(1e-6)
