"""Checks of ch07/fair_budget."""

import torch

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=6,
    title="A rival with the same memory",
    difficulty=2,
    minutes=25,
    hints=(
        "A method keeps 10, 10 and 70 keys in three heads and pads. It says '30 keys "
        "a head'. How many may a method have that keeps equally many in every head?",
        "Peak: the last layer is read while all earlier ones are compressed. Padded: "
        "add the layers' widest counts first, then divide by the number of layers.",
        "counts[:-1].sum() + K * S; counts.amax(1).sum() // L; counts.sum() // (L * "
        "K). Both advantages are rival minus method, at two different budgets.",
    ),
)

COUNTS = [[3, 9, 6], [8, 8, 8], [0, 31, 0], [1, 2, 42]]
ROUNDING = 1e-12
"""One subtraction of numbers of order 1."""
PARTS = "nominal advantage", "advantage at the same bytes"


def counts(rows=COUNTS):
    """Keys kept, [L, K]."""
    return torch.tensor(rows)


@check(points=2, likely="the layer in hand is whole; only earlier ones are compressed.")
def test_peak(answer):
    """Layer by layer, or all layers first"""
    kept = [sum(row) for row in COUNTS]
    want = sum(kept[:3]) + 3 * 50
    mistakes = {
        "all layers are compressed already": sum(kept) + 3 * 50,
        "only the layer in hand is counted": 3 * 50,
        "nothing is read, only kept": sum(kept),
        "the layer in hand counts one head": sum(kept[:3]) + 50,
        "no layer is compressed": 4 * 3 * 50,
    }
    got = answer.peak_entries(counts(), 50, "layer")
    expect_same(got, want, mistakes=mistakes, name="the peak, layer by layer")
    got = answer.peak_entries(counts(), 50, "model")
    expect_same(got, 4 * 3 * 50, name="the peak of a rule for the model")
    got = answer.peak_entries(counts([[7, 1]]), 20, "layer")
    expect_same(got, 40, name="the peak of a model with one layer")


@check(points=3, likely="equal bytes, in entries a head, rounded down once.")
def test_fair(answer):
    """The budget of a uniform rival for each way of holding"""
    widest = sum(max(row) for row in COUNTS)  # 90
    kept = sum(map(sum, COUNTS))  # 118
    for kind, want, mistakes in (
        ("masked", 50, {"the mask frees what it hides": kept // 12}),
        ("padded", widest // 4, {
            "the model's widest head is taken": 42,
            "exactly the kept keys are counted": kept // 12,
            "it is rounded up": -(-widest // 4),
        }),
        ("ragged", kept // 12, {
            "it is rounded up": kept // 12 + 1,
            "the widest heads are counted": widest // 4,
        }),
    ):  # fmt: skip
        got = answer.fair_entries(counts(), 50, kind)
        expect_same(got, want, mistakes=mistakes, name=f"the fair budget if {kind}")
    for rows, want in (([[1, 0], [1, 0], [1, 1]], 0), ([[5, 0, 0], [1, 0, 0]], 1)):
        got = answer.fair_entries(counts(rows), 9, "ragged")
        expect_same(got, want, name=f"the fair budget of {rows}")


@check(points=2, likely="rival minus method, at the nominal budget and at equal bytes.")
def test_advantage(answer):
    """A method that wins by its padding, and one that wins without"""
    rival = [4.0 - 0.03 * n for n in range(51)]
    nominal = rival[118 // 12]
    for kind, entries in (("masked", 50), ("padded", 90 // 4), ("ragged", 118 // 12)):
        want = nominal - 3.5, rival[entries] - 3.5
        mistakes = {
            "the sign is turned round": (-want[0], -want[1]),
            "both are the nominal one": (want[0], want[0]),
            "the two are exchanged": (want[1], want[0]),
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.advantage(3.5, rival, counts(), 50, kind)
        name = f"the advantage if {kind}"
        expect_same(
            got, want, tolerance=ROUNDING, mistakes=mistakes, name=name, parts=PARTS
        )


@check(points=1, likely="an unknown word is no reason to guess.")
def test_refusals(answer):
    """Another scope, another kind: ValueError"""
    expect_raises(answer.peak_entries, counts(), 50, "sequence", mentions="scope")
    expect_raises(answer.fair_entries, counts(), 50, "paged", mentions="kind")
