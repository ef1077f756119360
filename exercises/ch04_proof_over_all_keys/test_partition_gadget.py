"""Checks of ch04/partition_gadget."""

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_raises, expect_same

EXERCISE = Exercise(
    number=2,
    title="A number puzzle as a row of attention",
    difficulty=2,
    minutes=25,
    hints=(
        "Two teams of equal size shall have equal weight. What is the mean weight of "
        "a team then, compared with the mean of everybody?",
        "The error of half the keys is |2 sum_A w - W| / m, and the numbers are "
        "integers. What is the smallest error that is not 0?",
        "is_half: error < 0.5 / m. split: add as many zeros as there are numbers, "
        "take the best set of the gadget, drop the indices of the zeros.",
    ),
)

ROUNDING = 1e-12
"""Relative to the largest number: a mean in float64 rounds to about 1e-15 of it."""


@check(points=1, likely="all weights are 1 / m, and the values are the numbers.")
def test_gadget(answer):
    """The row, and its errors by the formula"""
    numbers = [3, 1, 4, 1, 5, 9]
    got = answer.gadget(numbers)
    want = (
        torch.full((6,), 1 / 6, dtype=torch.float64),
        torch.tensor([[3.0], [1.0], [4.0], [1.0], [5.0], [9.0]], dtype=torch.float64),
        3,
    )
    mistakes = {"the numbers are the weights": (want[1][:, 0] / 23, want[1], 3)}
    parts = "p", "v", "size"
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=parts)


@check(points=1, likely="an odd count has no half.")
def test_refusals(answer):
    """Three numbers and no numbers: ValueError"""
    for numbers in ([1, 2, 3], []):
        expect_raises(answer.gadget, numbers, mentions="numbers")


@check(points=2, likely="between an error of 0 and one of 1 / m there is nothing.")
def test_is_half(answer):
    """Errors as float64 has them: not quite 0, and 1 / m"""
    for m in (2, 6, 1000):
        numbers = [1] * m
        for error, want in ((0.0, True), (1e-5, True), (1 / m, False), (2 / m, False)):
            got = answer.is_half(error, numbers)
            expect_same(got, want, name=f"is_half({error:g}) of {m} numbers")
    # float64 on large numbers: the sums differ by 0 or by 1
    generator = torch.Generator().manual_seed(407)
    for odd in (0, 1):
        for _ in range(5):
            half = torch.randint(2**43, 2**44, (5,), generator=generator).tolist()
            other = [x + d for x, d in zip(half, (3, -4, 1, 7, -7 + odd))]
            v = torch.tensor(half + other, dtype=torch.float64)
            p = torch.full((10,), 0.1, dtype=torch.float64)
            error = ((p * (v - p @ v))[:5].sum() / p[:5].sum()).abs().item()
            got = answer.is_half(error, half + other)
            expect_same(got, not odd, name=f"is_half({error:g}) of large numbers")


@check(points=2, likely="zeros fill up the smaller part, whichever size it has.")
def test_split(answer):
    """Parts of any size, among few and among more numbers"""
    for numbers in (
        [1, 2, 3],
        [5, 5],
        [2, 9, 3, 4],
        [6, 1, 1, 1, 1, 1, 1],
        [7, 1, 2, 4],
    ):
        part, name = answer.split(numbers), f"the part of {numbers}"
        expect(part is not None, f"{name} is None, but there is one")
        expect(type(part) is tuple, f"{name} must be a tuple of ints")
        legal = all(type(j) is int and 0 <= j < len(numbers) for j in part)
        expect(legal, f"{name}, {part}, has entries that are no indices")
        expect(list(part) == sorted(set(part)), f"{name}, {part}, must increase")
        total, of = sum(numbers[j] for j in part), sum(numbers)
        expect(2 * total == of, f"{name}, {part}, sums to {total}; need half of {of}")


@check(points=1, likely="where no part exists the answer is None, not the best try.")
def test_no_split(answer):
    """Puzzles without a solution: odd sums, and even ones"""
    for numbers in (
        [3],
        [1, 2, 4, 8],
        [1, 1, 4],
        [2, 2, 2],
        [3, 3, 3, 3, 2],
        [9, 1, 2],
    ):
        got = answer.split(numbers)
        expect(got is None, f"{numbers} cannot be split: need None, not {got!r}")
