"""CORE's memory: evicted keys become one small matrix that every later query reads.

Evicted keys are written into M = sum_i w_i phi(k_i) v_i', weighted by the share of the
allocation that went with them, and read by m(q) = phi(q)' M / ||phi(q)||, a norm that
the evicted features set. From the code of "CORE" (arXiv 2610.02235); what it changes in
"IndexMem" (arXiv 2605.25475) can be switched off again.

phi is linear, phi(x) = Phi x, so that M = Phi C with C = sum_i w_i k_i v_i': however
many features there are, D x D numbers hold all of M.
"""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

import torch

from kvteach.compensate.tail_slot import narrow

EPSILON = 1e-8
SMALL = 1e-6  # shares nearer to 0 or 1 have no useful logarithm in float32
NAMES = (
    "phi", "gate.0.weight", "gate.0.bias", "gate.2.weight", "gate.2.bias", "gate.share"
)
PREFIXES = {False: "memory.", True: "memory_by_share."}
"""Of learned tensors' names, for a read without and with the evicted share."""


@dataclass(frozen=True)
class LatentMemory:
    """Write the evicted keys of a layer into its memory; returns the `Memory`.

    With pi = softmax of the scores of all keys that may be evicted, E the evicted ones:

        mass mu = sum_E pi_i,   Z' = gamma Z + mu
        C' = (gamma Z C + sum_E pi_i k_i v_i') / Z',   b' likewise from phi(k_i)^2

    The memory stays a weighted mean of all that was ever evicted, an eviction t rounds
    ago weighing gamma^t mu. Scores are logits: those of CORE's indexer are meant.

    weights: object whose ``layers[index]`` is a dict with, among others, "memory.phi"
    [K, F, D], "memory.gate.0.weight" [K, G, D] and ".bias" [K, G],
    "memory.gate.2.weight" [K, G] and ".bias" [K] (see `kvteach.compile.memory`).
    by_mass False: plain sums as in IndexMem, C' = gamma C + sum_E k_i v_i'. root False:
    its read, without the square root. by_share True, not published: the gate also
    knows the share of the allocation that has been evicted, Z' / (Z' + 1 - mu); it has
    weights of its own, named "memory_by_share.", among them "gate.share" [K].

    State: D D + F numbers a KV head in the model's dtype, and two float32. Cost of a
    write: 2 E D (D + F) FLOP a head. Sums run in float32; what a half-precision dtype
    cannot hold saturates. Deviation: the authors' code has one memory a layer, whose
    phi reads all heads joined; here every KV head has its own. Raises ValueError for a
    gamma outside [0, 1] and for weights of another model.
    """

    weights: Any = field(repr=False)
    gamma: float = 0.9
    root: bool = True
    by_mass: bool = True
    by_share: bool = False

    window = 0
    hidden = False
    repeats = True

    def __post_init__(self):
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"gamma: {self.gamma}; legal is 0 .. 1")
        missing = [name for name in self._names() if name not in self.weights.layers[0]]
        if missing:
            raise ValueError(f"weights: no {missing[0]} in them; a memory needs it")

    def _names(self):
        """Names of the learned tensors that this read needs."""
        return [PREFIXES[self.by_share] + name for name in NAMES[: 5 + self.by_share]]

    def charge(self, dim):
        """Keys per KV head whose bytes the state takes, in a half-precision model."""
        features = self.weights.layers[0][PREFIXES[self.by_share] + "phi"].shape[1]
        return math.ceil((dim * dim + features + 4) / (2 * dim))

    def __call__(self, layer, kept_ks, score_ks, before=None):
        """The memory of one layer of one sequence, B = 1."""
        learned = self._learned(layer)
        keys, values = layer.keys_ksd.float(), layer.values_ksd.float()
        features = keys @ learned["phi"].transpose(1, 2)
        mass_k, weight_ks = evicted_mass(kept_ks, score_ks)
        if not self.by_mass:
            weight_ks = (~kept_ks).float()
        moments = (keys * weight_ks[..., None]).transpose(1, 2) @ values
        squares = (features.square() * weight_ks[..., None]).sum(1)
        total_k = mass_k
        if before is not None:
            total_k = mass_k + self.gamma * before.mass_bk[0]
            parts = self._parts(before.mass_bk[0], mass_k)
            moments = _mixed(parts, before.moments_bkdd[0].float(), moments)
            squares = _mixed(parts, before.norms_bkf[0].float().square(), squares)
        share_k = total_k / (total_k + 1 - mass_k) if self.by_share else None
        return Memory(
            narrow(moments, layer.keys_ksd)[None],
            narrow(squares.sqrt(), layer.keys_ksd)[None],
            total_k[None],
            None if share_k is None else share_k[None],
            learned,
            self.root,
        )

    def _parts(self, before_k, mass_k):
        """What the old and the new count in the next state, [K] each."""
        if not self.by_mass:
            return torch.full_like(mass_k, self.gamma), torch.ones_like(mass_k)
        old = self.gamma * before_k
        total = (old + mass_k).clamp_min(torch.finfo(torch.float32).tiny)
        return old / total, mass_k / total

    def _learned(self, layer):
        """The layer's weights in float32 on its device, without their prefix."""
        if layer.index >= len(self.weights.layers):
            raise ValueError(
                f"weights: for {len(self.weights.layers)} layers; "
                f"layer {layer.index} asks"
            )
        tensors = self.weights.layers[layer.index]
        wide = {"device": layer.keys_ksd.device, "dtype": torch.float32}
        names = zip(NAMES, self._names())
        learned = {name: tensors[full].to(**wide) for name, full in names}
        heads, _, dim = layer.keys_ksd.shape
        fitted_heads, _, fitted_dim = learned["phi"].shape
        if (heads, dim) != (fitted_heads, fitted_dim):
            raise ValueError(
                f"weights: for {fitted_heads} KV heads of dimension {fitted_dim}; "
                f"layer {layer.index} has {heads} of {dim}"
            )
        return learned


@dataclass(frozen=True)
class Memory:
    """What stands for the evicted keys: C, the root of b, the mass.

    Of B sequences and K heads. b is kept as its root, which half precision holds as well
    as the keys themselves.
    """

    moments_bkdd: torch.Tensor  # C: M = Phi C
    norms_bkf: torch.Tensor  # sqrt(b): root mean square of each feature
    mass_bk: torch.Tensor  # Z, float32
    share_bk: torch.Tensor | None  # evicted, of the allocation, float32; None: not read
    learned: dict = field(repr=False)
    root: bool = True

    def slots(self, queries_gxd, softcap):
        """None: the softmax stays as it is."""

    def outside(self, queries_gxd):
        """g(q) m(q), added to the attention output, [G, X, D].

        Cost a query: 2 D (2 F + D + G) FLOP, G the gate's width; C is read once.
        """
        shape = *self.mass_bk.shape, *queries_gxd.shape[1:]
        queries = queries_gxd.float().reshape(shape)
        read = self.read(queries) * self.gate(queries)[..., None]
        return read.view_as(queries_gxd).to(queries_gxd.dtype)

    def read(self, queries_bkxd):
        """m(q) = phi(q)' M / sqrt((phi(q)^2)' b + epsilon), float32."""
        phi = self.learned["phi"]
        features = queries_bkxd @ phi.transpose(1, 2)
        answer = features @ phi @ self.moments_bkdd.float()
        b = self.norms_bkf.float().square()
        square = features.square() @ b[..., None] + EPSILON
        return answer / (square.sqrt() if self.root else square)

    def gate(self, queries_bkxd):
        """g(q) in [0, 1], one number a query: a sigmoid of a small network.

        By share: its argument also grows by a log(share / (1 - share)), a learned. That
        is how an exact gate would depend on it: a query's weight on the evicted keys
        is the sigmoid of a difference of logsumexps.
        """
        w = self.learned
        hidden = queries_bkxd @ w["gate.0.weight"].transpose(1, 2)
        hidden = torch.nn.functional.gelu(hidden + w["gate.0.bias"][:, None])
        logit = (hidden @ w["gate.2.weight"][..., None])[..., 0]
        logit = logit + w["gate.2.bias"][:, None]
        if self.share_bk is not None:
            logit = logit + (w["gate.share"] * self.share_bk.logit(SMALL))[..., None]
        return logit.sigmoid()

    def tensors(self):
        """What is held for every sequence, and paid for."""
        held = {"moments": self.moments_bkdd, "norms": self.norms_bkf}
        held["mass"] = self.mass_bk
        return held if self.share_bk is None else {**held, "share": self.share_bk}

    def weights(self):
        """What is learned, once a layer, and must travel with a saved cache."""
        return self.learned

    def select(self, rows):
        """The memory whose sequence i is sequence ``rows[i]`` of this one."""
        rows = torch.as_tensor(rows, device=self.mass_bk.device)
        return self._each(lambda name: getattr(self, name)[rows])

    @classmethod
    def stack(cls, memories):
        """Memories of one layer as one, sequence after sequence."""
        return memories[0]._each(
            lambda name: torch.cat([getattr(memory, name) for memory in memories])
        )

    def _each(self, make):
        """A memory whose state is ``make`` of each tensor's name."""
        names = ("moments_bkdd", "norms_bkf", "mass_bk", "share_bk")
        state = {name: make(name) for name in names if getattr(self, name) is not None}
        return dataclasses.replace(self, **state)


def evicted_mass(kept_ks, score_ks):
    """(mu [K], weights [K, S]): the evicted share of pi, and each key's part of it.

    pi = softmax of the scores over all keys whose score is not +inf. Weights sum to 1 in
    a head that evicts, and are 0 on kept keys and in a head that evicts nothing.
    """
    logits = score_ks.float().masked_fill(score_ks == torch.inf, -torch.inf)
    evicted = logits.masked_fill(kept_ks, -torch.inf)
    weight_ks = evicted.softmax(1).nan_to_num(0.0)  # NaN: a head that evicts nothing
    mass_k = (evicted.logsumexp(1) - logits.logsumexp(1)).exp().nan_to_num(0.0)
    return mass_k, weight_ks


def _mixed(parts, old, new):
    one, other = (part.view((-1,) + (1,) * (new.dim() - 1)) for part in parts)
    return one * old + other * new
