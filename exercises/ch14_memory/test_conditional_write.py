"""Checks of ch14/conditional_write."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=1,
    title="Write the evicted keys with their mass",
    difficulty=1,
    minutes=20,
    hints=(
        "Over which keys is the softmax taken: those that are evicted, or all that could have been?",
        "Softmax over every key whose score is not +inf. Its sum over the evicted keys is mu; "
        "divided by mu, its entries there are the weights.",
        "The new moments count with mu, the old with gamma times the old mass; divide by the "
        "sum of both. In `counts`, eviction tau of T has mu gamma^(T - 1 - tau).",
    ),
)

ROUNDING = 1e-12
"""Sums of a dozen products of numbers of size 1, in float64."""
PARTS = "moments", "mass"


def made(seed, length=9, dim=3, value=4):
    """(keys, values, scores, kept) of one head; the newest key must stay."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator).double()

    score = 2 * draw(length)
    score[-1] = torch.inf
    kept = torch.zeros(length, dtype=torch.bool)
    kept[[1, 4, length - 1]] = True
    return draw(length, dim), draw(length, value), score, kept


def by_loops(keys, values, score, kept, candidates=None):
    """(sum w k v', mu), key after key; candidates: who is in the softmax."""
    inside = [j for j, s in enumerate(score.tolist()) if s != math.inf]
    inside = inside if candidates is None else candidates
    pi = {j: math.exp(float(score[j])) for j in inside}
    total = sum(pi.values())
    gone = [j for j in inside if not kept[j]]
    mass = sum(pi[j] for j in gone) / total
    moments = torch.zeros(keys.shape[1], values.shape[1], dtype=torch.float64)
    for j in gone:
        moments += pi[j] / total / mass * torch.outer(keys[j], values[j])
    return moments, mass


@check(points=3, likely="mu is a share of all candidates, kept ones too; weights sum to 1.")
def test_first_write(answer):
    """The first eviction: masses over all candidates, weights over the evicted"""
    keys, values, score, kept = made(1401)
    want = by_loops(keys, values, score, kept)
    gone = [j for j in range(9) if not kept[j]]
    plain = sum(torch.outer(keys[j], values[j]) for j in gone) / len(gone)
    mistakes = {
        "the softmax is over the evicted keys alone": (want[0], 1.0),
        "the moments are sums of pi k v', not of w k v'": (want[0] * want[1], want[1]),
        "all evicted keys weigh the same": (plain, want[1]),
    }
    got = answer.write(None, keys, values, score, kept, 0.9)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=3, likely="the old memory counts with gamma times its mass, the new with mu.")
def test_second_write(answer):
    """A second eviction joins the first by mass, for several gammas"""
    first = by_loops(*made(1402))
    for gamma in (0.0, 0.5, 1.0):
        keys, values, score, kept = made(1403)
        new, mass = by_loops(keys, values, score, kept)
        total = gamma * first[1] + mass
        want = (gamma * first[1] * first[0] + mass * new) / total, total
        mistakes = {
            "the memory is a plain sum": (gamma * first[0] + new, total),
            "old and new weigh gamma and 1 - gamma": (
                gamma * first[0] + (1 - gamma) * new, total
            ),
            "the old mass does not fade": (
                (first[1] * first[0] + mass * new) / (first[1] + mass), first[1] + mass
            ),
            "the mass does not reach the next eviction": (want[0], mass),
        }
        mistakes = {
            k: x for k, x in mistakes.items()
            if not (torch.allclose(x[0], want[0]) and math.isclose(x[1], want[1]))
        }
        state = first[0].clone(), first[1]
        got = answer.write(state, keys, values, score, kept, gamma)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=1, likely="a key with the score +inf is no candidate; exp(+inf) is not to be summed.")
def test_forced_keys(answer):
    """Several keys with the score +inf, at any place"""
    keys, values, score, kept = made(1404)
    score[[0, 4]] = torch.inf
    kept[0] = True
    want = by_loops(keys, values, score, kept)
    expect_same(
        answer.write(None, keys, values, score, kept, 0.9), want,
        tolerance=ROUNDING, parts=PARTS,
    )


@check(points=2, likely="an eviction that is a rounds old weighs gamma^a mu, over the sum of all.")
def test_counts(answer):
    """What each eviction counts in the end"""
    for masses, gamma in (([0.5], 0.9), ([0.2, 0.2, 0.2], 0.5), ([0.9, 0.1, 0.3, 0.6], 0.9)):
        ages = range(len(masses) - 1, -1, -1)
        raw = [m * gamma**a for m, a in zip(masses, ages)]
        want = torch.tensor([x / sum(raw) for x in raw], dtype=torch.float64)
        early = [m * gamma ** (a + 1) for m, a in zip(masses, range(len(masses)))]
        mistakes = {
            "the first eviction is the freshest": torch.tensor(
                [x / sum(early) for x in early], dtype=torch.float64
            ),
            "masses do not matter": torch.tensor(
                [gamma**a / sum(gamma**b for b in ages) for a in ages], dtype=torch.float64
            ),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        expect_same(answer.counts(masses, gamma), want, tolerance=ROUNDING, mistakes=mistakes)
