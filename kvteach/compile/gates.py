"""Fit learned scores to KVzip: FastKVzip gates and KVzap networks, for any model."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from kvteach.compile.harvest import harvest
from kvteach.scores import fastkvzip, kvzap
from kvteach.scores.fitted import Fitted
from kvteach.scores.kvzip import KVzip

_SMALLEST = 1e-12  # a KVzip+ score below it is rounding; its logarithm means nothing


@dataclass(frozen=True)
class Report:
    """How fitted scores do on keys of documents that they never saw.

    within: Spearman correlation with the scores they were fitted to, over the keys of
    one head, mean over all heads; what a budget per head sees. pooled: the same over
    all heads' keys together; what a budget for the whole model sees. loss: of the
    training's kind, on those keys, mean over layers; ``constant`` the loss of the best
    constant of each head, so that loss / constant below 1 means something was learned.
    """

    within: float
    pooled: float
    loss: float
    constant: float


def fit(model, documents, kind, generator, held_out=8, keys=400, **options):
    """Weights of one kind for a model, and how they do on documents they never saw.

    documents: [S] token ids each; the last ``held_out`` of them only judge. kind: a
    name in `KINDS`. generator: a torch generator; it draws ``keys`` keys a document
    and the training. options: as `fit_harvest` takes them. Returns (`Fitted`,
    `Report`).

    Cost: a prefill and a replay a document, then a minute of training at most. Raises
    ValueError for an unknown kind and for too few documents.
    """
    rule = target_rule(kind)
    if not 1 <= held_out < len(documents):
        raise ValueError(
            f"held_out: {held_out}; need 1 .. {len(documents) - 1} documents"
        )
    sampled = harvest(model, documents, rule, generator, keys)
    train, test = sampled.split(range(len(documents) - held_out, len(documents)))
    return fit_harvest(train, test, kind, generator, **options)


def target_rule(kind):
    """The rule that a kind imitates: KVzip for gates, KVzip+ for KVzap."""
    if kind not in KINDS:
        raise ValueError(f"kind: {kind!r} is not one of {', '.join(KINDS)}")
    return KVzip(plus=kind != "fastkvzip")


def fit_harvest(train, test, kind, generator, **options):
    """Like `fit`, from a `Harvest` to learn from and one to be judged by.

    options: of the kind's own function, `gate`, `linear` or `network`.
    """
    learn, predict, loss = KINDS[kind]
    layers = []
    for hidden, target in zip(train.hidden, train.target):
        # Some channels are a thousand times as large as others; training sees them
        # equal, and the weights take the factor back.
        scale_e = hidden.float().square().mean(0).sqrt().clamp_min(1e-6)
        weights = learn(hidden.float() / scale_e, target, generator, **options)
        for name in ("weight", "0.weight", "q_proj.weight", "k_proj.weight"):
            if name in weights:
                weights[name] = weights[name] / scale_e
        layers.append({name: tensor.half() for name, tensor in weights.items()})
    return Fitted(layers), _judge(layers, train, test, predict, loss)


def _judge(layers, train, test, predict, loss):
    """The `Report` of weights as they will be stored."""
    predicted, losses, constants = [], [], []
    for weights, hidden, target, seen in zip(
        layers, test.hidden, test.target, train.target
    ):
        weights = {name: tensor.float() for name, tensor in weights.items()}
        answer = predict(weights, hidden.float())
        predicted.append(answer)
        losses.append(loss(answer, target))
        constants.append(loss(_constant(loss, seen).expand_as(target), target))
    ours = torch.stack(predicted).transpose(1, 2).flatten(0, 1)  # [L K, N]
    theirs = torch.stack(test.target).transpose(1, 2).flatten(0, 1)
    within = [_spearman(a, b) for a, b in zip(ours, theirs)]
    return Report(
        float(torch.stack(within).mean()),
        float(_spearman(ours.flatten(), theirs.flatten())),
        float(torch.stack(losses).mean()),
        float(torch.stack(constants).mean()),
    )


def _spearman(a, b):
    """Pearson correlation of ranks; ties are broken by position, which is rare here."""
    ranks = torch.stack([x.argsort(stable=True).argsort().double() for x in (a, b)])
    return torch.corrcoef(ranks)[0, 1]


# --- what is learned, how it answers, and what it loses ---------------------------


def linear(hidden_ne, target_nk, generator=None, ridge=1.0):
    """KVzap's linear map: ridge regression of the logarithms, in closed form."""
    hidden_ne, wanted_nk = hidden_ne.double(), _log(target_nk).double()
    mean_e, mean_k = hidden_ne.mean(0), wanted_nk.mean(0)
    centred = hidden_ne - mean_e
    gram = centred.T @ centred + ridge * torch.eye(len(mean_e), dtype=torch.float64)
    weight = torch.linalg.solve(gram, centred.T @ (wanted_nk - mean_k)).T
    return {"weight": weight.float(), "bias": (mean_k - weight @ mean_e).float()}


def network(hidden_ne, target_nk, generator, width=24, rate=0.001, **descent):
    """KVzap's network of one hidden layer, least squares of the logarithms.

    It starts as the ridge regression, since gelu(x) - gelu(-x) = x: two units a head
    hold the line, and descent finds a use for the others. Raises ValueError for a width
    below 2 K. The paper's networks are 512 wide and start at random.
    """
    line = linear(hidden_ne, target_nk)
    size, heads = hidden_ne.shape[1], target_nk.shape[1]
    if width < 2 * heads:
        raise ValueError(f"width: {width}; need at least 2 K = {2 * heads}")
    others = torch.randn(width - 2 * heads, size, generator=generator) * size**-0.5
    one = torch.eye(heads)
    start = {
        "0.weight": torch.cat([line["weight"], -line["weight"], others]),
        "0.bias": torch.cat([line["bias"], -line["bias"], torch.zeros(len(others))]),
        "2.weight": torch.cat([one, -one, torch.zeros(heads, len(others))], 1),
        "2.bias": torch.zeros(heads),
    }
    data = hidden_ne, target_nk
    return _descend(
        start, kvzap.surrogate, _squares, data, generator, rate=rate, **descent
    )


def gate(hidden_ne, target_nk, generator, dim=4, group=1, bases=16, **descent):
    """FastKVzip's gate, least binary cross-entropy.

    dim, group: 16 and the model's R in the paper. A gate of 16 dimensions for the
    bundled model would weigh 7 MB; the smaller one is given its 1 MB.
    """
    size, heads = hidden_ne.shape[1], target_nk.shape[1]
    mean_k = target_nk.mean(0).clamp(1e-3, 1 - 1e-3)

    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    start = {
        "q_proj.weight": draw(heads * group * dim, size) * size**-0.5,
        "q_proj.bias": torch.zeros(heads * group * dim),
        "k_proj.weight": draw(heads * dim, size) * size**-0.5,
        "q_norm.weight": torch.ones(dim),
        "k_norm.weight": torch.ones(dim),
        "k_base": draw(heads, 1, bases, dim) * 0.3,  # equal ones would stay equal
        "b": (mean_k.logit() + math.log(bases))[:, None, None].repeat(1, 1, group),
    }
    data = hidden_ne, target_nk
    return _descend(start, _gate_nk, _entropy, data, generator, **descent)


def _descend(weights, predict, loss, data, generator, steps=400, batch=512, rate=0.01):
    """Adam over random batches, the rate falling to zero along a cosine."""
    weights = {name: tensor.requires_grad_() for name, tensor in weights.items()}
    optimiser = torch.optim.Adam(weights.values(), lr=rate)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    hidden_ne, target_nk = data
    for _ in range(steps):
        chosen = torch.randint(len(hidden_ne), (batch,), generator=generator)
        optimiser.zero_grad()
        loss(predict(weights, hidden_ne[chosen]), target_nk[chosen]).backward()
        optimiser.step()
        fall.step()
    return {name: tensor.detach() for name, tensor in weights.items()}


def _log(target):
    return target.clamp_min(_SMALLEST).log()


def _squares(answer, target):
    return (answer - _log(target)).square().mean()


def _entropy(answer, target):
    return F.binary_cross_entropy(answer, target.clamp(0, 1))


def _constant(loss, target):
    """The constant of each head that loses least."""
    return (_log(target) if loss is _squares else target).mean(0)


def _gate_nk(weights, hidden_ne):
    return fastkvzip.gate(weights, hidden_ne).T


KINDS = {
    "fastkvzip": (gate, _gate_nk, _entropy),
    "kvzap-linear": (linear, kvzap.surrogate, _squares),
    "kvzap-mlp": (network, kvzap.surrogate, _squares),
}
"""Kinds of learned score: how each is fitted, how it answers, what it loses."""
