"""Checks of ch12/slot_debt."""

import math

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="What a centroid owes",
    difficulty=1,
    minutes=15,
    hints=(
        "Two evicted keys with equal logits and equal weights: together they weigh twice "
        "as much as their centroid. Which of the two parts is that?",
        "The entropy knows only r. The divergence compares r with the softmax of the "
        "logits and is 0 where they agree.",
        "torch.special.entr(r) is - r log r with 0 at 0; the divergence is - H(r) less "
        "sum r_j log_softmax(l)_j.",
    ),
)
TINY = 1e-10


def case(seed, length, scale, zeros=0):
    """(logits, weights)."""
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(length, generator=generator, dtype=torch.float64)
    share = torch.rand(length, generator=generator, dtype=torch.float64)
    share[:zeros] = 0
    return logits, share / share.sum()


def by_hand(logits, share):
    """(entropy, divergence) with plain loops."""
    logits, share = logits.tolist(), share.tolist()
    top = max(logits)
    total = top + math.log(math.fsum(math.exp(x - top) for x in logits))
    entropy = -math.fsum(r * math.log(r) for r in share if r)
    gain = math.fsum(r * (math.log(r) - (x - total)) for r, x in zip(share, logits) if r)
    return entropy, gain


@check(points=2, likely="natural logarithms; the divergence is from the softmax of the logits.")
def test_two_parts(answer):
    """Entropy and divergence of small cases"""
    two = torch.zeros(2, dtype=torch.float64), torch.full((2,), 0.5, dtype=torch.float64)
    for logits, share in (two, case(1211, 3, 1.0), case(1212, 50, 2.0)):
        entropy, gain = by_hand(logits, share)
        mistakes = {
            "logarithms have base 2": (entropy / math.log(2), gain / math.log(2)),
            "the count's logarithm stands for the entropy": (math.log(len(share)), gain),
            "the divergence is taken the other way": (
                entropy, (logits.softmax(0) * (logits.log_softmax(0) - share.log())).sum().item()),
            "the parts are exchanged": (gain, entropy),
        }  # fmt: skip
        mistakes = {
            k: x for k, x in mistakes.items()
            if max(abs(x[0] - entropy), abs(x[1] - gain)) > 1e-6
        }  # fmt: skip
        got = answer.slot_debt(logits, share)
        expect_same(got, (entropy, gain), tolerance=TINY, mistakes=mistakes,
                    parts=("entropy", "divergence"))  # fmt: skip


@check(points=2, likely="0 log 0 is 0, and the logarithm of a softmax is log_softmax.")
def test_zeros_and_large_logits(answer):
    """Weights of 0 and logits in the hundreds"""
    for logits, share in (case(1213, 6, 1.0, zeros=3), case(1214, 6, 400.0),
                          case(1215, 8, 900.0, zeros=5)):  # fmt: skip
        got = answer.slot_debt(logits, share)
        expect_same(got, by_hand(logits, share), tolerance=TINY,
                    parts=("entropy", "divergence"))  # fmt: skip


@check(points=2, likely="the bias is added to the mean of the logits, before the exponential.")
def test_taken(answer):
    """The slot's share of the mass it stands for"""
    for seed, shift, bias in ((1216, 0.0, 0.0), (1217, 900.0, 1.3), (1218, -900.0, 0.5)):
        logits, share = case(seed, 20, 1.5)
        logits = logits + shift
        entropy, gain = by_hand(logits, share)
        want = math.exp(bias - entropy - gain)
        mistakes = {"the bias is left out": want * math.exp(-bias)} if bias else {}
        got = answer.taken(logits, share, bias)
        expect_same(got, want, tolerance=TINY, mistakes=mistakes)


@check(points=2, likely="with a bias of the entropy, 1 exactly where r is the softmax.")
def test_entropy_paid(answer):
    """Exact for the row whose weights it has, too light for others"""
    logits, share = case(1219, 12, 1.5)
    own = logits.softmax(0)
    entropy, _ = by_hand(logits, own)
    got = answer.taken(logits, own, entropy)
    expect_same(got, 1.0, tolerance=TINY, name="the share for the row's own weights")
    entropy, gain = by_hand(logits, share)
    got = answer.taken(logits, share, entropy)
    expect_same(got, math.exp(-gain), tolerance=TINY, name="the share for other weights")
