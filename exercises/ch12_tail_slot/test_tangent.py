"""Checks of ch12/tangent."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=3,
    title="The tangent slot",
    difficulty=2,
    minutes=20,
    hints=(
        "For which query must the slot be exact, and which weights do the evicted keys "
        "have for that query?",
        "Average the queries first, take one softmax over the evicted keys, and use it "
        "for key, value and bias alike.",
        "r = (keys[~kept] @ queries.mean(0)).softmax(0); the lift needs the logsumexp of "
        "every query over the evicted keys.",
    ),
)
TINY = 1e-10


def case(seed, rows=7, length=15, dim=5, scale=1.0):
    """(queries, keys, values, kept)."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    kept = torch.rand(length, generator=generator) < 0.4
    kept[0], kept[1] = True, False
    return scale * (draw(rows, dim) + 0.5), draw(length, dim), draw(length, dim), kept


def slot_of(r, keys, values):
    """Key, value and bias of a slot with weights r."""
    return r @ keys, r @ values, torch.special.entr(r).sum().item()


@check(points=3, likely="one softmax, of the mean query, over the evicted keys.")
def test_key_value_bias(answer):
    """The slot of a few queries"""
    for seed, scale in ((1221, 1.0), (1222, 3.0)):
        queries, keys, values, kept = case(seed, scale=scale)
        out = ~kept
        r = (keys[out] @ queries.mean(0)).softmax(0)
        want = slot_of(r, keys[out], values[out])
        averaged = (queries @ keys[out].T).softmax(1).mean(0)
        alike = torch.full_like(r, 1 / len(r))
        everything = (keys @ queries.mean(0)).softmax(0)
        last = (keys[out] @ queries[-1]).softmax(0)
        mistakes = {
            "the queries' softmaxes are averaged": slot_of(averaged, keys[out], values[out]),
            "weights are equal": slot_of(alike, keys[out], values[out]),
            "kept keys take part": slot_of(everything, keys, values),
            "the last query stands for all": slot_of(last, keys[out], values[out]),
            "the bias is the logarithm of the count": (*want[:2], math.log(len(r))),
        }
        got = answer.tangent_slot(queries, keys, values, kept)
        expect_same(got, want, tolerance=TINY, mistakes=mistakes,
                    parts=("key", "value", "bias"))  # fmt: skip


@check(points=2, likely="at the mean query the slot's logit is the evicted keys' logsumexp.")
def test_exact_at_the_mean(answer):
    """Exact at the mean query, never too heavy elsewhere, large logits"""
    for seed, scale in ((1223, 1.0), (1224, 200.0)):
        queries, keys, values, kept = case(seed, scale=scale)
        mean = queries.mean(0)
        got = answer.tangent_slot(queries, keys, values, kept)
        want = slot_of((keys[~kept] @ mean).softmax(0), keys[~kept], values[~kept])
        expect_same(got, want, tolerance=TINY, parts=("key", "value", "bias"))
        exact = (keys[~kept] @ mean).logsumexp(0).item()
        expect_same((mean @ got[0]).item() + got[2], exact, tolerance=TINY,
                    name="the logit at the mean query")  # fmt: skip


@check(points=3, likely="the mean of the queries' own gaps, of evicted keys only.")
def test_lift(answer):
    """A part of the mean gap is added to the bias"""
    for seed, lift in ((1225, 0.5), (1226, 1.0), (1227, 0.0)):
        queries, keys, values, kept = case(seed, scale=2.0)
        out = ~kept
        r = (keys[out] @ queries.mean(0)).softmax(0)
        key, _, bias = slot_of(r, keys[out], values[out])
        slot = queries @ key + bias
        gap = (queries @ keys[out].T).logsumexp(1) - slot
        of_all = (queries @ keys.T).logsumexp(1) - slot
        want = bias + lift * gap.mean().item()
        mistakes = {
            "kept keys are counted": bias + lift * of_all.mean().item(),
            "gaps are summed": bias + lift * gap.sum().item(),
            "the whole gap is added": bias + gap.mean().item(),
            "the gap is taken at the mean query": bias,
            "the largest gap counts": bias + lift * gap.max().item(),
            "only the addition is returned": lift * gap.mean().item(),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        got = answer.lifted_bias(queries, keys, kept, key, bias, lift)
        expect_same(got, want, tolerance=TINY, mistakes=mistakes)
