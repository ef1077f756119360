"""Train the latent memory: features and gate of every head, on evictions of real text.

The state of a memory does not depend on what is learned but for two matrices: C = sum
w k v' and Q = sum w k k', from which b = diag(Phi Q Phi') for any Phi. So texts are
read once, each eviction is reduced to C, Q, some later queries and what attention lost
for them, and training never sees a key again.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from kvteach.budgets.uniform import Uniform
from kvteach.compensate.latent_memory import (
    EPSILON,
    PREFIXES,
    SMALL,
    LatentMemory,
    evicted_mass,
)
from kvteach.scores import observe

SHARES = (0.75, 0.5, 0.25, 0.1)
"""Of keys kept while training: the four ratios of CORE, .25, .5, .75 and .9 evicted."""

SINKS = 4
STRIDE = 2  # of the queries that are learned from: neighbours are much alike


@dataclass(frozen=True)
class Evictions:
    """N evictions of all layers, float16; X queries a KV head, its R heads by rows."""

    moments: torch.Tensor  # C, [L, K, N, D, D]
    squares: torch.Tensor  # Q, [L, K, N, D, D]
    queries: torch.Tensor  # after rotary embedding, times the scaling, [L, K, N, X, D]
    lost: torch.Tensor  # full output minus the kept keys', [L, K, N, X, D]
    mass: torch.Tensor  # share of the allocation that is evicted, [L, K, N]

    def __len__(self):
        return self.moments.shape[2]

    def pick(self, chosen):
        """The evictions with these numbers, in float32."""
        parts = (self.moments, self.squares, self.queries, self.lost, self.mass)
        return Evictions(*(part[:, :, chosen].float() for part in parts))


def train(model, documents, rule, generator, later=64, shares=SHARES, **descent):
    """Features and gates for a model's memories, fitted where ``rule`` evicts.

    Minimises the mean of ||o_full - o_kept - g(q) m(q)||^2 over the last ``later``
    queries of every document, outputs before the output projection. The keys before
    them are scored by ``rule(layer)``; the best share stays (SINKS first keys among
    them), the others are written into the memory with the masses that the scores give.
    The same is done where only half of the document has been read.

    model: a transformers causal model. documents: [S] token ids each, of one length.
    rule: a scoring rule whose scores are logits, such as CORE's indexer. generator: a
    torch generator. shares: of keys kept, in (0, 1); each document is used with each.
    descent: features (64), hidden (64), steps (300), batch (4), rate (0.004). The
    authors learn from 16 queries; from 64, and with few steps, there was less overfitting.

    Returns a list with a dict a layer: "memory.phi" [K, F, D], "memory.gate.0.weight"
    [K, G, D], "memory.gate.0.bias" [K, G], "memory.gate.2.weight" [K, G],
    "memory.gate.2.bias" [K], and the same names with "memory_by_share." for the gate
    that knows the evicted share, with "gate.share" [K]; float16. Put them into
    `kvteach.scores.fitted.Fitted`, beside the indexer's, and give that to
    `LatentMemory`. `judge` says what they are worth.

    Cost: a prefill a document, 8 L K D (D + later R / 2) bytes a document and share, then
    some minutes of one core for the bundled model. Raises ValueError for documents of
    unequal length and for shares outside (0, 1).
    """
    data = evictions(model, documents, rule, later, shares)
    # A seed of its own, so that a memory can be trained again without its indexer.
    generator = torch.Generator().manual_seed(generator.initial_seed())
    published = fit(data, generator, **descent)
    ours = fit(data, generator, by_share=True, **descent)
    return [{**one, **other} for one, other in zip(published, ours)]


def evictions(model, documents, rule, later=64, shares=SHARES, parts=(1.0, 0.5)):
    """What `train` learns from: each part of each document with each share, so ordered.

    parts: how much of a document has been read, the ``later`` queries included.
    """
    if len({len(tokens) for tokens in documents}) != 1:
        raise ValueError("documents: of several lengths; need one length")
    if not all(0 < share < 1 for share in shares):
        raise ValueError(f"shares: {shares}; each must lie between 0 and 1")
    found = []
    for tokens in documents:
        whole = observe.layers(model, tokens)
        for end in (int(part * len(tokens)) for part in parts):
            layers = [observe.prefix(layer, end) for layer in whole]
            found += _of_text(layers, rule, end - later, shares)
    return Evictions(*(torch.stack(kind, 2) for kind in zip(*found)))


def _of_text(layers, rule, length, shares):
    """Evictions of the first ``length`` keys of all layers, one for each share."""
    scores = [observed(rule, observe.prefix(layer, length)) for layer in layers]
    for share in shares:
        entries = int(share * length)
        made = [
            _one(layer, best(score, entries), score)
            for layer, score in zip(layers, scores)
        ]
        yield [torch.stack(kind) for kind in zip(*made)]


def observed(rule, prefix):
    """Scores of a prefix, its newest key above all, as the engine has them."""
    score_ks = rule(prefix).clone()
    score_ks[:, -1] = torch.inf
    return score_ks


def best(score_ks, entries):
    """Which keys stay, [K, S] bool: so many a head, the first SINKS among them."""
    entries = max(entries, SINKS + 1)
    return Uniform(sinks=SINKS)([score_ks], entries, [0], 1)[0]


def _one(layer, kept_ks, score_ks):
    """C, Q, queries and losses of one layer's eviction."""
    prefix = observe.prefix(layer, kept_ks.shape[1])
    mass_k, weight_ks = evicted_mass(kept_ks, score_ks)
    keys, values = prefix.keys_ksd.float(), prefix.values_ksd.float()
    weighted = (keys * weight_ks[..., None]).transpose(1, 2)
    full, kept = outputs(layer, kept_ks)
    heads, _, dim = layer.keys_ksd.shape
    later = layer.length - prefix.length
    queries = layer.queries_htd[:, -later::STRIDE].float() * layer.scaling
    parts = weighted @ values, weighted @ keys, queries, (full - kept)[:, ::STRIDE]
    return [*(part.reshape(heads, -1, dim).half() for part in parts), mass_k]


def outputs(layer, kept_ks):
    """Attention of the rows after the prefix, over all and over kept keys, [H, T, D]."""
    prefix = kept_ks.shape[1]
    weights_kxs = layer.weights(prefix, layer.length).flatten(0, 1)
    weights_kxs = weights_kxs.view(len(kept_ks), -1, layer.length)
    seen_ks = F.pad(kept_ks, (0, layer.length - prefix), value=True)
    left_kxs = weights_kxs * seen_ks[:, None]
    values = layer.values_ksd.float()
    heads, _, dim = layer.queries_htd.shape
    full = (weights_kxs @ values).view(heads, -1, dim)
    kept = (left_kxs @ values / left_kxs.sum(-1, keepdim=True)).view(heads, -1, dim)
    return full, kept


# --- training -----------------------------------------------------------------------


def fit(
    data, generator, features=64, hidden=64, steps=300, batch=4, rate=0.004,
    by_share=False, root=True,
):
    """One of the two that `train` returns. All layers at once: heads share no weights.

    by_share, root: which read, as for `LatentMemory`.
    """
    depth, heads, _, dim, _ = data.moments.shape

    def draw(*shape):
        return torch.randn(depth, heads, *shape, generator=generator)

    learned = {
        "phi": draw(features, dim) * dim**-0.5,
        "gate.0.weight": draw(hidden, dim) * dim**-0.5,
        "gate.0.bias": torch.zeros(depth, heads, hidden),
        "gate.2.weight": draw(hidden) * hidden**-0.5,
        "gate.2.bias": torch.zeros(depth, heads),
    }
    if by_share:
        learned["gate.share"] = torch.ones(depth, heads)
    learned = {name: tensor.requires_grad_() for name, tensor in learned.items()}
    optimiser = torch.optim.Adam(learned.values(), lr=rate)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        some = data.pick(torch.randint(len(data), (batch,), generator=generator))
        optimiser.zero_grad()
        off = some.lost - answers(learned, some, root)
        off.square().sum(-1).mean((2, 3)).sum().backward()
        optimiser.step()
        fall.step()
    prefix = PREFIXES[by_share]
    return [
        {prefix + name: t.detach()[layer].half() for name, t in learned.items()}
        for layer in range(depth)
    ]


def answers(learned, some, root=True):
    """What the memory adds for every query, [L, K, N, X, D]: `Memory.outside`."""
    phi = learned["phi"]
    through = phi @ some.squares.movedim(2, 3).flatten(3)  # Phi Q, [L, K, F, N D]
    through = through.unflatten(3, (-1, phi.shape[-1]))
    norms = (through * phi[:, :, :, None]).sum(-1)  # b = diag(Phi Q Phi'), [L, K, F, N]
    queries = some.queries.flatten(2, 3)
    seen = queries @ phi.transpose(2, 3)
    read = (seen @ phi).view_as(some.queries) @ some.moments
    seen = seen.square().unflatten(2, some.queries.shape[2:4])
    square = (seen @ norms.movedim(3, 2)[..., None])[..., 0] + EPSILON
    inner = queries @ learned["gate.0.weight"].transpose(2, 3)
    inner = F.gelu(inner + learned["gate.0.bias"][:, :, None])
    logit = inner @ learned["gate.2.weight"][..., None]
    logit = logit + learned["gate.2.bias"][:, :, None, None]
    logit = logit.view_as(square)
    if "gate.share" in learned:
        odds = some.mass.logit(SMALL)
        logit = logit + (learned["gate.share"][..., None] * odds)[..., None]
    size = logit.sigmoid() / (square.sqrt() if root else square)
    return size[..., None] * read


# --- what it is worth -----------------------------------------------------------------

CHOICES = "keys", "fewer", "memory", "by_share"
"""What the same bytes may buy: as many keys as fit; or fewer of them and a memory. Of
the latter also the error that attention alone makes."""


def judge(model, documents, rule, weights, later=64, shares=SHARES):
    """Squared errors of the attention output on documents that were not trained on.

    Of each document the keys before its last ``later`` are evicted as in `train`, and
    these queries, which see all that came after the eviction, are answered in the four
    `CHOICES`. "keys" holds a share of the keys, the others as many less as the
    memory's bytes are worth.

    weights: object whose ``layers`` are what `train` returns. Returns (errors, size):
    [N, shares, L, 4] sums of ||o_full - o||^2 over queries and heads, and [N, L], the
    sum of ||o_full||^2. Cost: a prefill a document, 8 H later S D FLOP a layer and share.
    """
    rules = [LatentMemory(weights), LatentMemory(weights, by_share=True)]
    errors, sizes = [], []
    for tokens in documents:
        layers = observe.layers(model, tokens)
        found = [_judged(layer, rule, rules, later, shares) for layer in layers]
        errors.append(torch.stack([error for error, _ in found], 1))
        sizes.append(torch.stack([size for _, size in found]))
    return torch.stack(errors), torch.stack(sizes)


def _judged(layer, rule, memories, later, shares):
    """Errors [shares, 4] and size of one layer of one document."""
    prefix = observe.prefix(layer, layer.length - later)
    score_ks = observed(rule, prefix)
    heads, _, dim = layer.keys_ksd.shape
    queries = layer.queries_htd[:, -later:].float() * layer.scaling
    queries = queries.reshape(heads, -1, dim)
    table = []
    for share in shares:
        entries = int(share * prefix.length)
        full, whole = outputs(layer, best(score_ks, entries))
        kept_ks = best(score_ks, entries - memories[0].charge(dim))
        _, fewer = outputs(layer, kept_ks)
        added = [
            fewer + memory(prefix, kept_ks, score_ks).outside(queries).view_as(full)
            for memory in memories
        ]
        table.append([(full - o).square().sum() for o in (whole, fewer, *added)])
    return torch.tensor(table), full.square().sum()
