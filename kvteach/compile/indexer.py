"""Train CORE's student: the indexer learns the teacher's distribution and its cuts."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from kvteach.scores import indexer as student

RATIOS = (0.25, 0.5, 0.75, 0.9)
"""Shares that are evicted: where the boundary loss looks, and what is reported."""

SINKS = student.SINKS
WIDTH = 128


@dataclass(frozen=True)
class Report:
    """How the student does on documents that it never saw; means over layers.

    kl: KL(teacher | student) in nats, without the sinks; ``uniform`` what equal
    scores get. overlap: at each of `RATIOS`, the share of the teacher's kept keys,
    sinks aside, that the student keeps too; ``by_utility`` the same of the utility
    of the rows that the student sees, ``by_chance`` of random keys.
    """

    kl: float
    uniform: float
    overlap: list
    by_utility: list
    by_chance: list


# --- training -----------------------------------------------------------------


def train(reading, decoding, generator, steps=400, batch=2, rate=2e-3, among=None):
    """One network a layer, all in one pass: a list of float16 tensors by name.

    reading, decoding: `kvteach.compile.lessons.Lessons`. among: (indices, depth) where
    the lessons hold only some layers of a model; these then end as they would among
    all, since layers share the draws of the generator and nothing else.

    loss = KL(teacher | student) + 4 `boundary`, both without the sinks, averaged
    over the batch's documents. Every fourth step is on decoding. Adam, the rate
    falling to zero along a cosine (theirs: AdamW, 5,400 steps, a longer plateau, and
    from step 1,000 on together with the memory). Cost 110,000 L batch S FLOP a step.
    """
    flat_lf = reading.features.transpose(0, 1).flatten(1, 2)
    both_lf = torch.cat([flat_lf, decoding.features.transpose(0, 1).flatten(1, 2)], 1)
    mean_lf, scale_lf = both_lf.mean(1), both_lf.std(1).clamp_min(1e-3)
    weights = _start(*(among or (range(len(mean_lf)), len(mean_lf))), generator)
    # The last bias moves no softmax: its gradient would be rounding.
    learned = [tensor for name, tensor in weights.items() if name != "4.bias"]
    optimiser = torch.optim.Adam(learned, lr=rate)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(steps, 1))
    kinds = [(kind, _ranks(kind.target)) for kind in (reading, decoding)]
    for index in range(steps):
        kind, ranks = kinds[index % 4 == 3]
        picked = torch.randint(len(kind.target), (batch,), generator=generator)
        feature = (kind.features[picked] - mean_lf[:, None]) / scale_lf[:, None]
        score_nls = _forward(weights, feature)
        optimiser.zero_grad()
        _loss(score_nls, kind.target[picked], ranks[picked]).backward()
        optimiser.step()
        fall.step()
    return _stored(weights, mean_lf, scale_lf)


def _start(chosen, depth, generator):
    """Random weights of the chosen layers, [L, in, out] and [L, 1, out]."""
    weights, width = {}, len(student.FEATURES)
    for name, out in (("0", WIDTH), ("2", WIDTH), ("4", 1)):
        drawn = torch.randn(depth, width, out, generator=generator) * width**-0.5
        weights[f"{name}.weight"] = drawn[list(chosen)].requires_grad_()
        weights[f"{name}.bias"] = torch.zeros(len(chosen), 1, out).requires_grad_()
        width = out
    return weights


def _forward(weights, features_nlsf):
    """Scores of all layers, [N, L, S]."""
    count, depth, length, width = features_nlsf.shape
    inner = features_nlsf.transpose(0, 1).reshape(depth, count * length, width)
    for name in ("0", "2", "4"):
        inner = torch.baddbmm(
            weights[f"{name}.bias"], inner, weights[f"{name}.weight"]
        )
        inner = inner if name == "4" else F.gelu(inner)
    return inner.view(depth, count, length).transpose(0, 1)


def _loss(score_nls, target_nls, rank_nls):
    """Mean over documents, sum over layers, whose weights do not meet."""
    wanted = target_nls[..., SINKS:].log_softmax(-1)
    score = score_nls[..., SINKS:]
    kl = F.kl_div(score.log_softmax(-1), wanted, reduction="sum", log_target=True)
    depth = score_nls.shape[1]
    return kl / len(score_nls) + 4 * depth * boundary(score, rank_nls)


def boundary(score_nls, rank_nls, margin=0.5):
    """Mean hinge over pairs astride the teacher's cut, over `RATIOS`.

        mean over i of the delta ranks above the cut, j of the delta below, of
        max(0, margin - (s_i - s_j))

    score_nls: without the sinks. rank_nls: positions of these, from the teacher's
    first to its last. delta = 32 keys of 2,048, in proportion.
    """
    length = score_nls.shape[-1] + SINKS
    delta = max(1, round(32 * length / 2048))
    ordered = score_nls.gather(-1, rank_nls)
    total = 0.0
    for ratio in RATIOS:
        cut = kept_keys(length, ratio) - SINKS
        above = ordered[..., max(cut - delta, 0) : cut, None]
        below = ordered[..., None, cut : cut + delta]
        total = total + F.relu(margin - above + below).mean()
    return total / len(RATIOS)


def kept_keys(length, ratio):
    """B = max(min(4, S), floor(S (1 - ratio))), sinks included."""
    return max(min(SINKS, length), int(length * (1 - ratio) + 1e-9))


def _ranks(target_nls):
    return target_nls[..., SINKS:].argsort(dim=-1, descending=True, stable=True)


def _stored(weights, mean_lf, scale_lf):
    """Each layer's tensors as the rule reads them, the standardisation folded in."""
    first = weights["0.weight"].detach() / scale_lf[..., None]
    bias = weights["0.bias"].detach() - mean_lf[:, None] @ first
    plain = {**{n: t.detach() for n, t in weights.items()},
             "0.weight": first, "0.bias": bias}  # fmt: skip
    return [
        {
            name: (t[i].T if name.endswith("weight") else t[i, 0]).half().contiguous()
            for name, t in plain.items()
        }
        for i in range(len(mean_lf))
    ]


# --- judging ------------------------------------------------------------------


def judge(layers, held_out):
    """The `Report` of weights as stored, on lessons of unseen documents."""
    score_nls = scores(layers, held_out)
    teacher, ours = (t[..., SINKS:] for t in (held_out.target, score_nls))
    wanted = teacher.log_softmax(-1)
    kl = (wanted.exp() * (wanted - ours.log_softmax(-1))).sum(-1).mean()
    count = wanted.shape[-1]
    uniform = (wanted.exp() * wanted).sum(-1).mean() + torch.tensor(count).log()
    cuts = [kept_keys(count + SINKS, ratio) - SINKS for ratio in RATIOS]
    by_utility = held_out.utility[..., SINKS:]
    return Report(
        float(kl),
        float(uniform),
        [overlap(ours, teacher, cut) for cut in cuts],
        [overlap(by_utility, teacher, cut) for cut in cuts],
        [cut / count for cut in cuts],
    )


def scores(layers, lessons):
    """What stored weights say of every example, [N, L, S]."""
    wide = [{name: t.float() for name, t in layer.items()} for layer in layers]
    said = [student.surrogate(w, lessons.features[:, i]) for i, w in enumerate(wide)]
    return torch.stack(said, 1)


def overlap(one, other, count):
    """Share of the ``count`` largest of one that are among those of the other, mean."""
    both = [
        torch.zeros_like(x).scatter_(-1, x.topk(count).indices, 1.0)
        for x in (one, other)
    ]
    return float((both[0] * both[1]).sum(-1).mean() / count)
