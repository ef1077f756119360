"""Checks of ch01/roofline."""

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="The least time of a step",
    difficulty=2,
    minutes=15,
    hints=(
        "A kitchen has one cook and one waiter who work at the same time. How long "
        "does dinner take if the cook alone needs 30 minutes and the waiter 50?",
        "For the batch: write both times as functions of b. Both are straight lines; "
        "when do they cross, and when never?",
        "b (flop / peak - cache_bytes / bandwidth) <= weight_bytes / bandwidth. Where "
        "the bracket is not positive, the answer is None.",
    ),
)

ROUNDING = 1e-12
"""Relative to numbers of order 1; a division in float64 rounds to 1e-16."""
PARTS = "seconds", "bound"


@check(points=2, likely="the longer of the two times counts, not their sum.")
def test_both_sides(answer):
    """A step on either side of the ridge"""
    # An accelerator with 2 TB/s and 400 TFLOP/s; an 8B model in 2 bytes, batch 1.
    got = answer.roofline(16e9, 16e9, 2e12, 400e12)
    mistakes = {
        "the two times are added": (8e-3 + 4e-5, "memory"),
        "the shorter time is taken": (4e-5, "memory"),
        "bandwidth and peak are swapped": (8e-3, "compute"),
    }
    expect_same(
        got, (8e-3, "memory"), tolerance=ROUNDING, mistakes=mistakes, parts=PARTS
    )
    got = answer.roofline(16e9, 6.4e13, 2e12, 400e12)  # a prompt of 4000 tokens
    expect_same(got, (0.16, "compute"), tolerance=ROUNDING, parts=PARTS)


@check(points=1, likely="a tie is bound by memory.")
def test_on_the_ridge(answer):
    """Both times equal, and a step that computes nothing"""
    expect_same(
        answer.roofline(512, 4096, 64, 512), (8.0, "memory"), tolerance=ROUNDING
    )
    expect_same(answer.roofline(512, 0, 64, 512), (8.0, "memory"), tolerance=ROUNDING)


@check(points=2, likely="the weights are read once a step, the cache once a sequence.")
def test_largest_batch(answer):
    """The batch at which decoding stops being bound by memory"""
    # Times per step: (1024 + b) / 1 against 3 b / 1: equal at b = 512.
    mistakes = {
        "the cache is left out": 341,
        "a tie counts as compute": 511,
        "the first batch bound by compute is returned": 513,
    }
    got = answer.largest_memory_bound_batch(1024, 1, 3, 1, 1)
    expect_same(got, 512, mistakes=mistakes)
    # (1000 + 3 b) / 4 against 15 b / 8: equal at b = 222.2
    expect_same(answer.largest_memory_bound_batch(1000, 3, 15, 4, 8), 222)
    # (2 + b) / 1 against 8 b / 2: even one sequence is bound by compute.
    expect_same(answer.largest_memory_bound_batch(2, 1, 8, 1, 2), 0)


@check(points=1, likely="one more sequence can move more than it computes.")
def test_no_largest_batch(answer):
    """A long cache: every batch is bound by memory"""
    expect_same(answer.largest_memory_bound_batch(1024, 4, 3, 1, 1), None)
    expect_same(answer.largest_memory_bound_batch(1024, 3, 3, 1, 1), None)


@check(points=1, likely="a machine without bandwidth or peak is not refused.")
def test_refusals(answer):
    """No bandwidth, no peak: ValueError"""
    expect_raises(answer.roofline, 1.0, 1.0, 0.0, 1.0, mentions="bandwidth")
    expect_raises(answer.roofline, 1.0, 1.0, 1.0, -2.0, mentions="peak")
