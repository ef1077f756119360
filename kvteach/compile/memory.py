"""Train the latent memory: features and gate of every head, on evictions of real text.

The state of a memory does not depend on what is learned but for two matrices: C = sum
w k v' and Q = sum w k k', from which b = diag(Phi Q Phi') for any Phi. So texts are
read once, each eviction is reduced to C, Q, some later queries and what attention lost
for them, and training never sees a key again.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F

from kvteach.budgets.uniform import Uniform
from kvteach.compensate.latent_memory import EPSILON, LatentMemory, evicted_mass
from kvteach.scores import observe

SHARES = (0.75, 0.5, 0.25, 0.1)
"""Of keys kept while training: the four ratios of CORE, .25, .5, .75 and .9 evicted."""

SINKS = 4


@dataclass(frozen=True)
class Evictions:
    """N evictions of all layers, float16; X queries for every KV head, R heads by rows."""

    moments: torch.Tensor  # C, [N, L, K, D, D]
    squares: torch.Tensor  # Q, [N, L, K, D, D]
    queries: torch.Tensor  # after rotary embedding, times the scaling, [N, L, K, X, D]
    lost: torch.Tensor  # full output minus the kept keys', [N, L, K, X, D]

    def __len__(self):
        return len(self.moments)

    def __getitem__(self, chosen):
        parts = (self.moments, self.squares, self.queries, self.lost)
        return Evictions(*(part[chosen].float() for part in parts))


def train(model, documents, rule, generator, later=16, shares=SHARES, **descent):
    """Features and gates for a model's memories, fitted where ``rule`` evicts.

    Minimises the mean of ||o_full - o_kept - g(q) m(q)||^2 over the last ``later``
    queries of every document, outputs before the output projection. The keys before
    them are scored by ``rule(layer)``; the best share stays (SINKS first keys among
    them), the others are written into the memory with the masses that the scores give.

    model: a transformers causal model. documents: [S] token ids each, of one length.
    rule: a scoring rule whose scores are logits, such as CORE's indexer. generator: a
    torch generator. shares: of keys kept, in (0, 1); each document is used with each.
    descent: features (64), hidden (64), steps (1500), batch (8), rate (0.01).

    Returns a list with a dict a layer: "memory.phi" [K, F, D], "memory.gate.0.weight"
    [K, G, D], "memory.gate.0.bias" [K, G], "memory.gate.2.weight" [K, G],
    "memory.gate.2.bias" [K], float16; put them into `kvteach.scores.fitted.Fitted`,
    beside the indexer's, and give that to `LatentMemory`. `judge` says what they are worth.

    Cost: a prefill a document, 4 L K D (D + later R) bytes a document and share, then
    some minutes of one core for the bundled model. Raises ValueError for documents of
    unequal length and for shares outside (0, 1).
    """
    return fit(evictions(model, documents, rule, later, shares), generator, **descent)


def evictions(model, documents, rule, later=16, shares=SHARES):
    """What `train` learns from: every document with every share, in this order."""
    if len({len(tokens) for tokens in documents}) != 1:
        raise ValueError("documents: of several lengths; need one length")
    if not all(0 < share < 1 for share in shares):
        raise ValueError(f"shares: {shares}; each must lie between 0 and 1")
    found = []
    for tokens in documents:
        layers = observe.layers(model, tokens)
        prefixes = [observe.prefix(layer, layer.length - later) for layer in layers]
        scores = [observed(rule, prefix) for prefix in prefixes]
        for share in shares:
            parts = [
                _one(layer, *eviction(prefix, score, share))
                for layer, prefix, score in zip(layers, prefixes, scores)
            ]
            found.append([torch.stack(part) for part in zip(*parts)])
    return Evictions(*(torch.stack(part) for part in zip(*found)))


def observed(rule, prefix):
    """Scores of a prefix, its newest key above all, as the engine has them."""
    score_ks = rule(prefix).clone()
    score_ks[:, -1] = torch.inf
    return score_ks


def eviction(prefix, score_ks, share):
    """(kept_ks, score_ks) where a share of the prefix is kept."""
    entries = max(SINKS + 1, int(share * prefix.length))
    return Uniform(sinks=SINKS)([score_ks], entries, [prefix.index], 1)[0], score_ks


def _one(layer, kept_ks, score_ks):
    """C, Q, queries and losses of one layer's eviction."""
    prefix = observe.prefix(layer, kept_ks.shape[1])
    _, weight_ks = evicted_mass(kept_ks, score_ks)
    keys, values = prefix.keys_ksd.float(), prefix.values_ksd.float()
    weighted = (keys * weight_ks[..., None]).transpose(1, 2)
    full, kept = outputs(layer, kept_ks)
    heads, _, dim = layer.keys_ksd.shape
    later = layer.length - prefix.length
    queries = layer.queries_htd[:, -later:].float() * layer.scaling
    parts = weighted @ values, weighted @ keys, queries, full - kept
    return [part.reshape(heads, -1, dim).half() for part in parts]


def outputs(layer, kept_ks):
    """Attention of the rows after the prefix, with all keys and with the kept, [H, T, D]."""
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


def fit(data, generator, features=64, hidden=64, steps=1500, batch=8, rate=0.01):
    """Like `train`, from `Evictions`. All layers at once: heads share no weights."""
    depth, heads, dim = data.moments.shape[1:4]

    def draw(*shape):
        return torch.randn(depth, heads, *shape, generator=generator)

    learned = {
        "phi": draw(features, dim) * dim**-0.5,
        "gate.0.weight": draw(hidden, dim) * dim**-0.5,
        "gate.0.bias": torch.zeros(depth, heads, hidden),
        "gate.2.weight": draw(hidden) * hidden**-0.5,
        "gate.2.bias": torch.zeros(depth, heads),
    }
    learned = {name: tensor.requires_grad_() for name, tensor in learned.items()}
    optimiser = torch.optim.Adam(learned.values(), lr=rate)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        some = data[torch.randint(len(data), (batch,), generator=generator)]
        optimiser.zero_grad()
        off = some.lost - answers(learned, some)
        off.square().sum(-1).mean((0, 3)).sum().backward()
        optimiser.step()
        fall.step()
    return [
        {f"memory.{name}": t.detach()[layer].half() for name, t in learned.items()}
        for layer in range(depth)
    ]


def answers(learned, some):
    """g(q) m(q) of every query, [N, L, K, X, D]; the same as `Memory.outside`."""
    phi = learned["phi"]
    norms = ((phi @ some.squares) * phi).sum(-1)  # b = diag(Phi Q Phi')
    seen = some.queries @ phi.transpose(-1, -2)
    read = seen @ phi @ some.moments
    square = seen.square() @ norms[..., None] + EPSILON
    inner = some.queries @ learned["gate.0.weight"].transpose(-1, -2)
    inner = F.gelu(inner + learned["gate.0.bias"][:, :, None])
    logit = (inner @ learned["gate.2.weight"][..., None])[..., 0]
    gate = (logit + learned["gate.2.bias"][:, :, None]).sigmoid()
    return gate[..., None] * read / square.sqrt()
