"""Checks of ch08/held_bytes."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=3,
    title="Bytes of four stores",
    difficulty=1,
    minutes=15,
    hints=(
        "Three heads keep 10, 20 and 90 keys. How many does a tensor with one width "
        "hold, and how many a flat list?",
        "One entry is a key and a value: 2 * head_dim * itemsize bytes. Count the "
        "entries of each store, then add what says which keys they are.",
        "Padded: K times the sum over layers of the largest count. Ragged: the sum of "
        "all counts, and 4 * (K + 1) bytes a layer.",
    ),
)

COUNTS = [[3, 9, 6], [8, 8, 8], [0, 30, 0], [1, 2, 40]]
ENTRY = 2 * 16 * 2
"""A key and a value of 16 numbers in 2 bytes."""
ROUNDING = 1e-12


def counts(rows=COUNTS):
    """Keys kept, [L, K]."""
    return torch.tensor(rows)


@check(points=2, likely="keys and values count, for each layer its widest head.")
def test_padded_and_uniform(answer):
    """Four layers padded to their widest heads, or to the model's"""
    padded = 3 * (9 + 8 + 30 + 40) * ENTRY
    uniform = 3 * 4 * 40 * ENTRY
    mistakes = {
        "values are left out": padded // 2,
        "the model's widest head counts in all layers": uniform,
        "the widest head counts once and not for every head": padded // 3,
        "exactly the kept keys are counted": sum(map(sum, COUNTS)) * ENTRY,
    }
    got = answer.held_bytes(counts(), 50, 16, 2, "padded")
    expect_same(got, padded, mistakes=mistakes)
    got = answer.held_bytes(counts(), 50, 16, 2, "uniform")
    mistakes = {"each layer has its own width": padded}
    expect_same(got, uniform, mistakes=mistakes)


@check(points=2, likely="ragged storage has offsets, masked storage a mask.")
def test_ragged_and_masked(answer):
    """Exactly what is kept, with offsets; everything, with a mask"""
    kept = sum(map(sum, COUNTS))
    ragged = kept * ENTRY + 4 * 4 * 4
    mistakes = {
        "there are no offsets": kept * ENTRY,
        "a layer has K offsets": kept * ENTRY + 4 * 3 * 4,
        "there is one list of offsets": kept * ENTRY + 4 * (4 * 3 + 1),
    }
    got = answer.held_bytes(counts(), 50, 16, 2, "ragged")
    expect_same(got, ragged, mistakes=mistakes)
    masked = 4 * 3 * 50 * (ENTRY + 1)
    mistakes = {
        "the mask is free": 4 * 3 * 50 * ENTRY,
        "the mask has the width of a number": 4 * 3 * 50 * (ENTRY + 2),
        "only kept keys are held": kept * (ENTRY + 1),
    }
    got = answer.held_bytes(counts(), 50, 16, 2, "masked")
    expect_same(got, masked, mistakes=mistakes)


@check(points=1, likely="a size in the formula is fixed, or another kind accepted.")
def test_sizes_and_kinds(answer):
    """Other sizes, sets that are empty, and a kind that is none"""
    for kind, want in (
        ("masked", 2 * 2 * 7 * (2 * 5 * 4 + 1)),
        ("padded", 2 * (6 + 1) * 2 * 5 * 4),
        ("uniform", 2 * 2 * 6 * 2 * 5 * 4),
        ("ragged", 10 * 2 * 5 * 4 + 2 * 3 * 4),
    ):
        got = answer.held_bytes(counts([[6, 2], [1, 1]]), 7, 5, 4, kind)
        expect_same(got, want, name=f"what {kind} storage holds")
    got = answer.held_bytes(counts([[0, 0]]), 7, 5, 4, "padded")
    expect_same(got, 0, name="what empty sets hold")
    expect_raises(answer.held_bytes, counts(), 50, 16, 2, "paged", mentions="kind")


@check(points=2, likely="the share is of all padded keys, not a mean over layers.")
def test_waste(answer):
    """The share of padding, from none to 1 - 1/K"""
    for rows, want, wrong in (
        (COUNTS, 1 - 115 / 261, (1 / 3 + 0 + 2 / 3 + 1 - 43 / 120) / 4),
        ([[5, 5], [90, 90]], 0.0, 0.0),
        ([[7, 0, 0, 0], [0, 0, 90, 0]], 0.75, 0.75),
        ([[0, 0], [4, 2]], 0.25, 0.25),
        ([[0, 0]], 0.0, 0.0),
    ):
        mistakes = {
            "the used share is returned": 1 - want,
            "the shares of the layers are averaged": wrong,
            "the ratio of padded to kept is returned": 1 / (1 - want),
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got, name = answer.padding_waste(counts(rows)), f"the waste of {rows}"
        expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, name=name)
