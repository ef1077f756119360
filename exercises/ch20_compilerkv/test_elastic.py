"""Checks of ch20/elastic."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="A threshold and a budget",
    difficulty=2,
    minutes=20,
    hints=(
        "Two conditions must hold at once. Which of them is about one key alone, and "
        "which needs an order of all keys?",
        "Give the last key a utility that beats all others, in a copy. Then the best "
        "of all and those at the threshold can be intersected.",
        "argsort(descending=True, stable=True)[:most] marks the best; & (worth_t >= "
        "tau). The penalty counts with the last key and without the cut.",
    ),
)


def kept_by_hand(u, tau, most, strict=False):
    """The definition in loops."""
    last = len(u) - 1
    ok = [t for t in range(last) if u[t] > tau or (u[t] == tau and not strict)]
    ok = sorted(ok, key=lambda t: (-u[t].item(), t))[: most - 1]
    kept = torch.zeros(len(u), dtype=torch.bool)
    kept[ok + [last]] = True
    return kept


def draw(seed, count, levels=None):
    """Utilities, with ties where levels are given."""
    generator = torch.Generator().manual_seed(seed)
    if levels:
        return torch.randint(levels, (count,), generator=generator).double() / 4
    return torch.rand(count, generator=generator, dtype=torch.float64) * 2


@check(points=2, likely="fewer than the budget may stay; nothing fills it up.")
def test_fewer(answer):
    """The threshold is at work, the budget is not"""
    for seed, tau, most in ((206, 1.2, 20), (207, 1.9, 12), (208, 3.0, 5)):
        u = draw(seed, 24)
        want = kept_by_hand(u, tau, most)
        filled = kept_by_hand(u, -1.0, most)
        mistakes = {"the budget is filled up": filled}
        expect_same(answer.keep(u, tau, most), want, mistakes=mistakes)


@check(points=2, likely="of too many keep the best, the last key among them.")
def test_more(answer):
    """The budget is at work"""
    for seed, tau, most in ((209, 0.2, 6), (210, 0.5, 1), (211, 0.1, 2)):
        u = draw(seed, 24)
        u[-1] = 0.3  # would not be among the best
        want = kept_by_hand(u, tau, most)
        got = answer.keep(u, tau, most)
        expect_same(got, want, mistakes={"nothing is cut": kept_by_hand(u, tau, 24)})


@check(points=2, likely="at the threshold counts as reaching it; ties go to the earlier.")
def test_ties(answer):
    """Utilities at the threshold, and equal ones at the cut"""
    for seed, tau, most in ((212, 0.5, 7), (213, 0.75, 30), (214, 0.25, 9)):
        u = draw(seed, 30, levels=5)
        want = kept_by_hand(u, tau, most)
        mistakes = {"the threshold itself is out": kept_by_hand(u, tau, most, True)}
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        expect_same(answer.keep(u, tau, most), want, mistakes=mistakes)


@check(points=1, likely="count what reaches the threshold before anything is cut.")
def test_penalty(answer):
    """What the reward charges"""
    for seed, tau, most in ((215, 0.2, 6), (216, 1.9, 6), (217, 0.5, 11)):
        u = draw(seed, 24)
        for last in (0.0, 2.0):
            u[-1] = last
            wanted = kept_by_hand(u, tau, 24).sum().item()
            want = max(0, wanted - most) / 24
            got = answer.penalty(u, tau, most)
            expect_same(got, want, tolerance=1e-12, name="the penalty")
