"""An attention-only transformer small enough to be understood, and its two tasks.

A text is a list of pairs, key value key value ..., then questions. A question is one
token. Two kinds:

    recall       a key of the list: which value stood behind it?
    majority     the token ASK: which value is the most frequent of the list?

Recall needs one position of the text, majority needs all of them. Two layers of
attention can do both, without any other layer: in the first, a value looks at the
token before it, its key; in the second, a question looks for the value that has seen
that key. ASK looks at all values alike. `train` finds this in some seconds on one
core, from random weights.

`Model.forward` can truncate every attention row to its heaviest weights, as eviction
does, so that one model shows where that helps and where it hurts.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

KEYS = 128
"""Tokens 0 .. KEYS - 1 are keys; a list never repeats one."""
VALUES = 8
"""Tokens KEYS .. KEYS + VALUES - 1 are values."""
ASK = KEYS + VALUES
"""The token that asks for the most frequent value."""
FAVOURED = 0.25
"""Chance that a pair is given the favoured value of its list; else any value."""
NEAR = 4
"""Distances 0 .. NEAR - 2 have a bias of their own, all larger ones share the last."""


class Batch(NamedTuple):
    """Lists of n pairs with m recall questions and then ASK, and the right answers."""

    tokens: torch.Tensor  # [B, 2 n + m + 1] int64
    answers: torch.Tensor  # [B, m + 1] values 0 .. VALUES - 1, one a question
    places: torch.Tensor  # [B, m] where the value asked for stands in the text


def texts(generator, count, pairs, questions=8):
    """Draw ``count`` lists of ``pairs`` pairs, each with questions: `Batch`.

    Keys are distinct; every list has a favoured value, so that a majority stands out.
    The last question is always ASK; a tie goes to the smallest value. Raises
    ValueError for pairs outside 1 .. KEYS and questions outside 1 .. pairs.
    """
    if not 1 <= pairs <= KEYS:
        raise ValueError(f"pairs: {pairs}; need 1 .. {KEYS}, as no key comes twice")
    if not 1 <= questions <= pairs:
        raise ValueError(f"questions: {questions}; need 1 .. {pairs}, one a pair")

    def shuffled(length):
        return torch.rand(count, length, generator=generator).argsort(1)

    keys_bn = shuffled(KEYS)[:, :pairs]
    values_bn = torch.randint(VALUES, (count, pairs), generator=generator)
    favoured_b1 = torch.randint(VALUES, (count, 1), generator=generator)
    swayed_bn = torch.rand(count, pairs, generator=generator) < FAVOURED
    values_bn = torch.where(swayed_bn, favoured_b1, values_bn)
    list_bt = torch.stack([keys_bn, KEYS + values_bn], 2).flatten(1)
    pick_bm = shuffled(pairs)[:, :questions]
    most_b = F.one_hot(values_bn, VALUES).sum(1).argmax(1)
    asked_bm = keys_bn.gather(1, pick_bm)
    return Batch(
        torch.cat([list_bt, asked_bm, torch.full((count, 1), ASK)], 1),
        torch.cat([values_bn.gather(1, pick_bm), most_b[:, None]], 1),
        2 * pick_bm + 1,
    )


class Attention(nn.Module):
    """Causal attention whose only sense of position is a bias for near distances."""

    def __init__(self, generator, dim, heads):
        super().__init__()
        self.heads = heads
        self.queries, self.keys, self.values, self.out = (
            _matrix(generator, dim, dim) for _ in range(4)
        )
        self.near = nn.Parameter(torch.zeros(heads, NEAR))

    def forward(self, x_btd, keep=None):
        """Output [B, T, D] and weights [B, H, T, T]; see `Model.forward`."""
        batch, length, dim = x_btd.shape

        def split(matrix):
            return (x_btd @ matrix).view(batch, length, self.heads, -1).transpose(1, 2)

        logits_bhtt = split(self.queries) @ split(self.keys).transpose(2, 3)
        places = torch.arange(length)
        distance_tt = places[:, None] - places
        bias_htt = self.near[:, distance_tt.clamp(0, NEAR - 1)]
        logits_bhtt = logits_bhtt / math.sqrt(dim // self.heads) + bias_htt
        logits_bhtt = logits_bhtt.masked_fill(distance_tt < 0, -torch.inf)
        p_bhtt = truncated(logits_bhtt, keep).softmax(-1)
        mixed_bthd = (p_bhtt @ split(self.values)).transpose(1, 2)
        return mixed_bthd.reshape(x_btd.shape) @ self.out, p_bhtt


def _matrix(generator, rows, columns, bound=None):
    """A parameter [rows, columns], uniform in +-bound, by default 1 / sqrt(rows)."""
    bound = 1 / math.sqrt(rows) if bound is None else bound
    matrix = torch.empty(rows, columns).uniform_(-bound, bound, generator=generator)
    return nn.Parameter(matrix)


def truncated(logits, keep):
    """The ``keep`` largest logits of each row [..., S], -inf elsewhere; None keeps all.

    The softmax then renormalises over what is left: the forced weights of eviction.
    """
    if keep is None or keep >= logits.shape[-1]:
        return logits
    top = logits.topk(keep, dim=-1)
    return torch.full_like(logits, -torch.inf).scatter(-1, top.indices, top.values)


class Model(nn.Module):
    """Embedding, two attention layers that add to it, and a read-out of values.

    No normalisation, no layer of neurons: logits are linear in what attention mixes.
    """

    def __init__(self, generator, dim=64, heads=2, layers=2):
        super().__init__()
        self.embed = _matrix(generator, KEYS + VALUES + 1, dim, 3 / math.sqrt(dim))
        self.layers = nn.ModuleList(
            Attention(generator, dim, heads) for _ in range(layers)
        )
        self.unembed = _matrix(generator, dim, VALUES)

    def forward(self, tokens_bt, keep=None):
        """Logits [B, T, VALUES], and the weights [B, H, T, T] of every layer.

        keep: the most keys that a row may attend to, in every layer and head; its
        heaviest stay and are renormalised. None is plain attention. Cost of a layer:
        8 T D^2 + 4 T^2 D FLOP a text. Raises ValueError for keep < 1.
        """
        if keep is not None and keep < 1:
            raise ValueError(f"keep: {keep}; a row needs at least 1 key")
        x_btd = self.embed[tokens_bt]
        weights = []
        for layer in self.layers:
            change_btd, p_bhtt = layer(x_btd, keep)
            x_btd = x_btd + change_btd
            weights.append(p_bhtt)
        return x_btd @ self.unembed, weights


# --- training ---------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """How `train` trains. Lists grow with time: long ones are hopeless at first."""

    steps: int = 500
    batch: int = 32
    pairs: int = 24
    rate: float = 1e-2


def train(generator, recipe=Recipe(), report=None):
    """Train a `Model` on both tasks at once; returns it in evaluation mode.

    Adam on the cross-entropy of all answers. The longest list of a step grows from 4
    pairs to ``recipe.pairs`` over the first half; the learning rate rises over 50
    steps and falls to 0 over the second half. generator: torch's, for weights and
    texts; one seed gives one model on one machine and thread count. report: called
    with (step, loss). Cost: about 5 s of one core by default.
    """
    model = Model(generator)
    adam = torch.optim.Adam(model.parameters(), recipe.rate, betas=(0.9, 0.99))
    for step in range(recipe.steps):
        done = step / recipe.steps
        longest = min(recipe.pairs, 4 + int(2 * done * recipe.pairs))
        pairs = int(torch.randint(3, longest + 1, (1,), generator=generator))
        batch = texts(generator, recipe.batch, pairs, min(pairs, 8))
        for group in adam.param_groups:
            group["lr"] = recipe.rate * min(1, (step + 1) / 50, 2 * (1 - done))
        loss = answers_loss(model(batch.tokens)[0], batch)
        adam.zero_grad()
        loss.backward()
        adam.step()
        if report:
            report(step + 1, loss.item())
    return model.eval().requires_grad_(False)


def answers_loss(logits_btv, batch):
    """Mean cross-entropy of a batch's answers, in nats: a scalar."""
    asked_bmv = logits_btv[:, -batch.answers.shape[1] :]
    return F.cross_entropy(asked_bmv.flatten(0, 1), batch.answers.flatten())


class Right(NamedTuple):
    """Shares of right answers."""

    recall: float
    majority: float


def accuracy(model, batch, keep=None):
    """Shares of right answers to recall and to majority questions: `Right`."""
    with torch.no_grad():
        logits_btv, _ = model(batch.tokens, keep)
    told_bm = logits_btv[:, -batch.answers.shape[1] :].argmax(-1)
    right_bm = (told_bm == batch.answers).double()
    return Right(right_bm[:, :-1].mean().item(), right_bm[:, -1].mean().item())
