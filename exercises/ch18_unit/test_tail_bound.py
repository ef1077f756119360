"""Checks of ch18/tail_bound."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=1,
    title="The dropped tail",
    difficulty=1,
    minutes=15,
    hints=(
        "Two means of values: one over all keys, one over the kept. What do the weights "
        "of the second sum to, before you do anything about it?",
        "Error: |sum_kept p v / sum_kept p - sum p v|. Bound: 2 times the longest value "
        "times the mass of what is not kept.",
        "Around the dense output: subtract p_s @ v_sd from every value first; the rest is "
        "the same bound.",
    ),
)

PARTS = "error", "bound"


def cases(seed):
    """Random rows with far-away values, and some sets."""
    generator = torch.Generator().manual_seed(seed)
    for keys, dim, far in ((5, 2, 0.0), (12, 3, 4.0), (30, 8, 20.0)):
        p = torch.randn(keys, generator=generator, dtype=torch.float64).mul(2).softmax(0)
        v = torch.randn(keys, dim, generator=generator, dtype=torch.float64) + far
        for size in (1, keys // 2, keys):
            kept = torch.zeros(keys, dtype=torch.bool)
            kept[torch.randperm(keys, generator=generator)[:size]] = True
            yield p, v, kept


def by_hand(p, v, kept):
    """Everything in Python's numbers: dense, kept output, dropped mass."""
    p, v, kept = p.tolist(), v.tolist(), kept.tolist()
    dims = range(len(v[0]))
    mass = sum(w for w, k in zip(p, kept) if k)
    dense = [sum(w * x[d] for w, x in zip(p, v)) for d in dims]
    forced = [sum(w * x[d] for w, x, k in zip(p, v, kept) if k) / mass for d in dims]
    lost = sum(w for w, k in zip(p, kept) if not k)
    return dense, forced, mass, lost


@check(points=3, likely="the kept weights must be divided by their sum.")
def test_error_and_bound(answer):
    """Error and bound of random rows, by loops"""
    for p, v, kept in cases(1810):
        dense, forced, mass, lost = by_hand(p, v, kept)
        longest = max(math.hypot(*x) for x in v.tolist())
        want = math.dist(forced, dense), 2 * longest * lost
        plain = math.dist([x * mass for x in forced], dense)
        mistakes = {
            "the kept weights are not renormalised": (plain, want[1]),
            "the factor 2 is left out": (want[0], longest * lost),
            "the kept mass stands in the bound": (want[0], 2 * longest * mass),
            "only kept values are measured": (want[0], 2 * lost * max(
                math.hypot(*x) for x, k in zip(v.tolist(), kept.tolist()) if k
            )),
        }
        mistakes = {
            k: x for k, x in mistakes.items()
            if max(abs(x[0] - want[0]), abs(x[1] - want[1])) > 1e-6
        }
        given = p.clone(), v.clone(), kept.clone()
        got = answer.tail_bound(*given)
        name = f"the result for {int(kept.sum())} of {len(p)} keys"
        # Sums of 30 products of numbers near 20.
        expect_same(got, want, tolerance=1e-11, mistakes=mistakes, name=name, parts=PARTS)
        expect_same(given, (p, v, kept), name="your arguments after the call")


@check(points=1, likely="half of the mass, and two values that point away from each other.")
def test_reached(answer):
    """A row by hand in which the error is the bound"""
    for long in (1.0, 3.0):
        p = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)
        v = torch.tensor([[long], [-long], [-long]], dtype=torch.float64)
        kept = torch.tensor([True, False, False])
        mistakes = {"the kept weights are not renormalised": (long / 2, long)}
        got = answer.tail_bound(p, v, kept)
        # The output is 0, the kept one is ``long``, and half of the mass is dropped.
        expect_same(got, (long, long), tolerance=1e-12, mistakes=mistakes, parts=PARTS)


@check(points=2, likely="distances are taken from the dense output, sum p v.")
def test_around(answer):
    """The bound around the dense output: it holds and moves with the values"""
    for p, v, kept in cases(1811):
        dense, forced, mass, lost = by_hand(p, v, kept)
        want = 2 * lost * max(math.dist(x, dense) for x in v.tolist())
        middle = v.mean(0).tolist()
        mistakes = {
            "lengths are measured from 0": 2 * lost * max(
                math.hypot(*x) for x in v.tolist()
            ),
            "distances are from the plain mean of the values": 2 * lost * max(
                math.dist(x, middle) for x in v.tolist()
            ),
            "distances are from the kept output": 2 * lost * max(
                math.dist(x, forced) for x in v.tolist()
            ),
        }
        mistakes = {k: x for k, x in mistakes.items() if abs(x - want) > 1e-6}
        got = answer.around(p, v, kept)
        expect_same(got, want, tolerance=1e-11, mistakes=mistakes)
        expect(math.dist(forced, dense) <= got + 1e-9, "the error is above your bound")
