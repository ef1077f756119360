"""Checks of ch12/exact_slot."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=1,
    title="The evicted keys as one key",
    difficulty=1,
    minutes=15,
    hints=(
        "What would attention have to see in one key to get the same sum of weights, "
        "and the same sum of weighted values, as from all evicted keys?",
        "The slot's unnormalised weight must be the sum of theirs, so its logit is the "
        "logarithm of that sum. Its value is their mean under their own weights.",
        "evicted.logsumexp(0) and evicted.softmax(0) @ values[~kept]; for the output one "
        "softmax over the kept logits and the slot's.",
    ),
)
TINY = 1e-12


def row(seed, length, shift=0.0):
    """(logits, values, kept) with some of both kinds."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(length, generator=generator, dtype=torch.float64) + shift
    values = torch.randn(length, 4, generator=generator, dtype=torch.float64)
    kept = torch.rand(length, generator=generator) < 0.4
    kept[0], kept[1] = True, False
    return logits, values, kept


def by_hand(logits, values, kept):
    """The slot with plain loops, the largest logit taken out."""
    evicted = [j for j in range(len(kept)) if not kept[j]]
    top = max(logits[j].item() for j in evicted)
    weight = {j: math.exp(logits[j].item() - top) for j in evicted}
    total = math.fsum(weight.values())
    value = [
        math.fsum(weight[j] * values[j, i].item() for j in evicted) / total
        for i in range(values.shape[1])
    ]
    return top + math.log(total), torch.tensor(value, dtype=torch.float64)


@check(points=2, likely="the logarithm of the sum of exponentials, of evicted keys only.")
def test_slot_by_hand(answer):
    """Logit and value of the evicted keys"""
    for seed, length in ((1201, 5), (1202, 40)):
        logits, values, kept = row(seed, length)
        logit, value = by_hand(logits, values, kept)
        out = ~kept
        mistakes = {
            "the logits are averaged": (logits[out].mean().item(), value),
            "the values are averaged alike": (logit, values[out].mean(0)),
            "the kept keys go into the slot": by_hand(logits, values, out),
            "weights are not divided by their own sum": (
                logit, logits.softmax(0)[out] @ values[out]),
        }  # fmt: skip
        got = answer.exact_slot(logits, values, kept)
        expect_same(got, (logit, value), tolerance=TINY, mistakes=mistakes,
                    parts=("logit", "value"))  # fmt: skip


@check(points=2, likely="take the largest logit out before exponentials, as logsumexp does.")
def test_large_logits(answer):
    """Logits far from 0"""
    for shift in (900.0, -1500.0):
        logits, values, kept = row(1203, 12, shift)
        want = by_hand(logits, values, kept)
        got = answer.exact_slot(logits, values, kept)
        expect_same(got, want, tolerance=TINY, parts=("logit", "value"))


@check(points=2, likely="the slot is one more column of the same softmax.")
def test_attend(answer):
    """Kept keys and a slot of any logit"""
    for seed, slot_logit in ((1204, 1.5), (1205, -2.0), (1206, 900.0)):
        logits, values, kept = row(seed, 9)
        slot_value = torch.arange(4.0, dtype=torch.float64)
        joined = torch.cat([logits[kept], torch.tensor([slot_logit], dtype=torch.float64)])
        p = joined.softmax(0)
        want = p[:-1] @ values[kept] + p[-1] * slot_value
        alone = logits[kept].softmax(0) @ values[kept]
        mistakes = {
            "the slot is left out": alone,
            "the slot is added to a finished output": alone + slot_value,
            "evicted keys are still there": (
                torch.cat([logits, joined[-1:]]).softmax(0)
                @ torch.cat([values, slot_value[None]])),
        }  # fmt: skip
        mistakes = {k: x for k, x in mistakes.items() if (x - want).abs().max() > 1e-6}
        got = answer.attend(logits, values, kept, slot_logit, slot_value)
        expect_same(got, want, tolerance=TINY, mistakes=mistakes)


@check(points=2, likely="with logit and value of exact_slot the output is the dense one.")
def test_exact_and_without(answer):
    """The exact slot gives the dense output; -inf is no slot"""
    logits, values, kept = row(1207, 30)
    logit, value = by_hand(logits, values, kept)
    dense = logits.softmax(0) @ values
    got = answer.attend(logits, values, kept, logit, value)
    expect_same(got, dense, tolerance=TINY, name="the output with the exact slot")
    want = logits[kept].softmax(0) @ values[kept]
    got = answer.attend(logits, values, kept, -math.inf, value)
    expect_same(got, want, tolerance=TINY, name="the output without a slot")
