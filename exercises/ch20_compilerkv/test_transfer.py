"""Checks of ch20/transfer."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=4,
    title="By relative depth",
    difficulty=2,
    minutes=20,
    hints=(
        "Where in the old table does layer i of the new model lie? Its place is "
        "rarely a whole number. What happens with a single layer?",
        "place = i (given - 1) / (count - 1); mix the entries below and above. Do one "
        "axis, turn the table, do the other.",
        "low = place.floor(), high = low + 1, but never above given - 1; (1 - part) * "
        "table[low] + part * table[high]. Guard count - 1 = 0.",
    ),
)

ROUNDING = 1e-12
"""Products of float64 numbers of size 1."""


def table(seed, layers, heads):
    """A table of weights."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(layers, heads, generator=generator, dtype=torch.float64)


def slow(old, layers, heads):
    """The definition, entry by entry."""
    given = old.shape

    def place(i, count, size):
        at = i * (size - 1) / (count - 1) if count > 1 else 0.0
        low = min(int(at + 1e-12), size - 1)
        return low, min(low + 1, size - 1), at - low

    new = torch.zeros(layers, heads, dtype=torch.float64)
    for i in range(layers):
        a, b, x = place(i, layers, given[0])
        for j in range(heads):
            c, d, y = place(j, heads, given[1])
            new[i, j] = (
                (1 - x) * ((1 - y) * old[a, c] + y * old[a, d])
                + x * ((1 - y) * old[b, c] + y * old[b, d])
            )  # fmt: skip
    return new


@check(points=2, likely="the last layer falls on the last layer, not beyond it.")
def test_ends(answer):
    """The same size, and twice the layers less one"""
    old = table(222, 5, 3)
    expect_same(answer.stretch(old, 5, 3), old, tolerance=ROUNDING)
    want = slow(old, 9, 3)
    mistakes = {
        "depths are (i + 1/2) / n": torch.nn.functional.interpolate(
            old.T[None], size=9, mode="linear", align_corners=False
        )[0].T,
        "entries are repeated": old[torch.arange(9) * 5 // 9],
    }
    got = answer.stretch(old, 9, 3)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="both axes are stretched, each by its own size.")
def test_both_axes(answer):
    """Other layers and other heads, more and fewer"""
    for seed, given, wanted in (
        (223, (30, 3), (32, 8)), (224, (7, 4), (3, 2)), (225, (4, 6), (11, 5))
    ):  # fmt: skip
        old = table(seed, *given)
        want = slow(old, *wanted)
        mistakes = {"only layers are stretched": slow(old, wanted[0], given[1])}
        got = answer.stretch(old, *wanted)
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="one layer is at depth 0; none at all is an error.")
def test_single(answer):
    """One layer or head, before or after; none"""
    for seed, given, wanted in (
        (226, (1, 3), (4, 3)), (227, (6, 2), (1, 2)), (228, (5, 1), (2, 4)),
        (229, (4, 4), (3, 1)),
    ):  # fmt: skip
        old = table(seed, *given)
        got = answer.stretch(old, *wanted)
        expect_same(got, slow(old, *wanted), tolerance=ROUNDING)
    expect_raises(answer.stretch, table(230, 3, 3), 0, 3, mentions="layers")
    expect_raises(answer.stretch, table(230, 3, 3), 3, 0, mentions="heads")
