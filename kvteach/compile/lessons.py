"""Lessons for CORE's student, from real text: features, and what the teacher says.

A document of T tokens makes two a layer. Reading: the keys are its first T - 128, the
student sees the last 128 rows of these. Decoding: the same, but of the keys older than
those rows half were evicted by the teacher before. Either way the teacher's utility
also hears the 128 rows that follow, which the student never sees.
"""

from dataclasses import dataclass, replace

import torch

from kvteach.scores import coverage
from kvteach.scores import indexer as student
from kvteach.scores.observe import layers as observed
from kvteach.scores.observe import prefix

BLOCK = 128


@dataclass(frozen=True)
class Lessons:
    """N documents' examples of one kind, of all L layers and S keys."""

    features: torch.Tensor  # [N, L, S, 14]
    target: torch.Tensor  # [N, L, S], the teacher's log w
    utility: torch.Tensor  # [N, L, S], over the rows that the student sees

    def of(self, documents):
        """The examples of these documents."""
        chosen = list(documents)
        return Lessons(
            self.features[chosen], self.target[chosen], self.utility[chosen]
        )


def harvest(model, documents, teacher=None, chosen=None):
    """(reading, decoding) `Lessons` from documents, [T] token ids each, of one length.

    teacher: a `coverage.Coverage`, whose window is not read. chosen: indices of
    layers, all by default. Cost: a prefill a document, and about as much again for
    features and teacher on a CPU; 100 L S bytes a document. Raises ValueError for lengths that differ or are below 512.
    """
    lengths = {len(tokens) for tokens in documents}
    if len(lengths) != 1 or min(lengths) < 4 * BLOCK:
        raise ValueError(
            f"documents: lengths {sorted(lengths)}; need one, of {4 * BLOCK} or more"
        )
    teacher = teacher or coverage.Coverage()
    made = [[], []]
    for tokens in documents:
        of_layers = [
            lessons(layer, teacher) for layer in observed(model, tokens, chosen)
        ]
        for kind, examples in zip(made, zip(*of_layers)):
            kind.append([torch.stack(parts) for parts in zip(*examples)])
    return tuple(Lessons(*map(torch.stack, zip(*kind))) for kind in made)


def lessons(layer, teacher):
    """Both examples of one layer: two of (features, target, utility)."""
    length = layer.length - BLOCK
    wanted_s = coverage.utility(layer, 2 * BLOCK)[:length]
    reading = prefix(layer, length)
    seen_s = coverage.utility(reading, BLOCK)
    log_w_s = distribution(teacher, reading, wanted_s)
    kept = survivors(log_w_s, length - BLOCK)
    decoding = of_keys(reading, kept)
    return [
        (student.features(reading, BLOCK), log_w_s.float(), seen_s.float()),
        (
            student.features(decoding, BLOCK),
            distribution(teacher, decoding, wanted_s[kept]).float(),
            seen_s[kept].float(),
        ),
    ]


def distribution(teacher, layer, u_s):
    """The teacher's log w on these keys, with this utility."""
    x_sz = coverage.centred(
        coverage.representation(layer, teacher.dim, teacher.seed)
    )
    *_, log_w_s = coverage.iterate(
        u_s, x_sz, teacher.rounds, teacher.rising,
        alpha=teacher.alpha, beta=teacher.beta, tau=teacher.tau,
    )  # fmt: skip
    return log_w_s


def survivors(log_w_s, past):
    """Positions after an eviction at ``past``: half of those before, all since."""
    rank_s = log_w_s[:past].clone()
    rank_s[:student.SINKS] = torch.inf
    kept = rank_s.argsort(descending=True, stable=True)[: past // 2].sort().values
    return torch.cat([kept, torch.arange(past, len(log_w_s))])


def of_keys(layer, kept):
    """The layer as it is while decoding: these keys only, the last block of rows."""
    return replace(
        layer,
        queries_htd=layer.queries_htd[:, -BLOCK:],
        keys_ksd=layer.keys_ksd[:, kept],
        values_ksd=layer.values_ksd[:, kept],
        positions_ks=kept.expand(len(layer.keys_ksd), -1),
        cos_sd=None,
        sin_sd=None,
        hidden_td=None,
    )
