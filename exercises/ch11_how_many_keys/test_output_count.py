"""Checks of ch11/output_count."""

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=5,
    title="How many keys hold the output",
    difficulty=3,
    minutes=35,
    hints=(
        "More keys are not always better: draw the error of the k heaviest keys over k. "
        "Which two counts answer 'how many do I need', and which one the bound?",
        "The error is the length of a sum of deviations p_j (v_j - mu) over the kept mass: "
        "sort by weight, then two cumulative sums give it for every k at once.",
        "first is the first good k. safe is one more than the last bad k. The bound falls "
        "with k: sum the light weights first and count how many keys may go.",
    ),
)

ROUNDING = 1e-9
"""Sums of some hundred products in float64; errors are of the order of 1."""


def row(seed, keys=40, dim=3, scale=2.0):
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(keys, dtype=torch.float64, generator=generator)
    return logits.softmax(0), torch.randn(keys, dim, dtype=torch.float64, generator=generator)


def ordered(p):
    return sorted(range(len(p)), key=lambda j: (-p[j].item(), j))


def slow_errors(p, v, renormalise=True, order=None):
    """e(k) from the definition, one k after the other."""
    order, mu = order or ordered(p), p @ v
    found = []
    for k in range(1, len(p) + 1):
        kept = order[:k]
        mass = p[kept].sum() if renormalise else 1.0
        found.append((mu - p[kept] @ v[kept] / mass).norm())
    return torch.stack(found)


def slow_counts(p, v, tolerance):
    good = [bool(e <= tolerance) for e in slow_errors(p, v)[:-1]] + [True]
    safe = next(k for k in range(1, len(p) + 1) if all(good[k - 1 :]))
    return good.index(True) + 1, safe


def slow_certificate(p, v, tolerance):
    order, mu = ordered(p), p @ v
    radius = max((value - mu).norm().item() for value in v)
    for k in range(1, len(p) + 1):
        if 2 * radius * sum(p[j].item() for j in order[k:]) <= tolerance:
            return k


@check(points=3, likely="the kept weights are divided by their sum, and the order is by weight.")
def test_errors(answer):
    """The error for every count, by hand and at random"""
    p = torch.tensor([0.10, 0.45, 0.45], dtype=torch.float64)
    v = torch.tensor([[5.0], [-1.0], [1.0]], dtype=torch.float64)
    for p, v in ((p, v), row(1140), row(1141, 25, 6, 1.0)):
        want = slow_errors(p, v)
        mistakes = {
            "the weights are not renormalised": slow_errors(p, v, renormalise=False),
            "keys are taken in the order of the row": slow_errors(p, v, order=list(range(len(p)))),
            "the lightest keys are kept": slow_errors(p, v, order=ordered(p)[::-1]),
            "the errors are squared": want**2,
        }
        got = answer.errors_by_count(p, v)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=1, likely="argsort is not stable unless it is told to be, and flipping exchanges ties.")
def test_ties(answer):
    """Equal weights: the smaller index first"""
    generator = torch.Generator().manual_seed(1142)
    for keys in (5, 64):
        p = torch.full((keys,), 1 / keys, dtype=torch.float64)
        v = torch.randn(keys, 2, dtype=torch.float64, generator=generator)
        want = slow_errors(p, v, order=list(range(keys)))
        back = slow_errors(p, v, order=list(range(keys))[::-1])
        got = answer.errors_by_count(p, v)
        expect_same(got, want, tolerance=ROUNDING,
                    mistakes={"of equal weights the larger index comes first": back})


@check(points=2, likely="30,000 keys: one pass of cumulative sums, not one pass for every count.")
def test_long_row(answer):
    """A row of 30,000 keys"""
    p, v = row(1143, 30_000, 16)
    order = ordered(p)
    got = answer.errors_by_count(p, v)
    expect(len(got) == 30_000, f"{len(got)} errors came back; need 30000")
    mu = p @ v
    for k in (1, 77, 5_000, 29_000):
        kept = order[:k]
        want = (mu - p[kept] @ v[kept] / p[kept].sum()).norm()
        expect_same(got[k - 1], want, tolerance=ROUNDING, name=f"the error of {k} keys")


@check(points=4, likely="the error rises and falls: safe is one more than the LAST count that is bad.")
def test_counts(answer):
    """First and safe counts"""
    for seed in range(1144, 1150):
        p, v = row(seed)
        for tolerance in (0.4, 0.1, 0.02):
            want = slow_counts(p, v, tolerance)
            mistakes = {
                "safe is the first count": (want[0], want[0]),
                "counts start at 0": (want[0] - 1, want[1] - 1),
                "safe is the last bad count": (want[0], want[1] - 1),
            }
            mistakes = {k: x for k, x in mistakes.items() if x != want}
            got = answer.output_counts(p, v, tolerance)
            expect_same(got, want, mistakes=mistakes, parts=("first count", "safe count"))
    # Every key is needed, or one is enough.
    p, v = row(1150)
    expect_same(answer.output_counts(p, v, 1e-9), (40, 40), parts=("first count", "safe count"))
    expect_same(answer.output_counts(p, v, 100.0), (1, 1), parts=("first count", "safe count"))
    same = torch.ones(40, 3, dtype=torch.float64)
    expect_same(answer.output_counts(p, same, 1e-9), (1, 1), parts=("first count", "safe count"))
    one = torch.ones(1, dtype=torch.float64), torch.ones(1, 2, dtype=torch.float64)
    expect_same(answer.output_counts(*one, 0.5), (1, 1), parts=("first count", "safe count"))


@check(points=2, likely="twice the largest distance from mu, over all values, times the mass that goes.")
def test_certificate(answer):
    """What the mass vouches for"""
    for seed in (1151, 1152, 1153):
        p, v = row(seed)
        v = v + 3.0  # distances are from mu, not from the origin
        for tolerance in (1.0, 0.1, 0.01, 1e-9):
            want = slow_certificate(p, v, tolerance)
            mistakes = {
                "a factor of two is left out": slow_certificate(p, v, 2 * tolerance),
                "one key too few is kept": want - 1,
                "the keys that may go are counted": len(p) - want,
            }
            mistakes = {k: x for k, x in mistakes.items() if x != want}
            got = answer.certified_count(p, v, tolerance)
            expect_same(got, want, mistakes=mistakes, name="the certified count")
            safe = slow_counts(p, v, tolerance)[1]
            expect(got >= safe, f"{got} keys are certified, but only {safe} are safe")
    p, v = row(1154)
    expect_same(answer.certified_count(p, v, 100.0), 1, name="the count for a wide tolerance")
