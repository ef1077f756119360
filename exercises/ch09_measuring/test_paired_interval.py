"""Checks of ch09/paired_interval."""

from fractions import Fraction

import numpy as np

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=2,
    title="An interval for a difference",
    difficulty=3,
    minutes=35,
    hints=(
        "Eight people of one family answer a survey. How many households did you ask, "
        "and what would differ if you asked again?",
        "Subtract first. A document then matters only through the sum of its "
        "differences and the number of its questions. Divide sums by counts after "
        "drawing, not before.",
        "sums[picks].sum() / counts[picks].sum() with picks = "
        "generator.integers(C, size=C); for the design effect "
        "m * values_cm.mean(1).var(ddof=1) and values_cm.var(axis=1, ddof=1).mean().",
    ),
)

ROUNDING = 1e-11
"""Means and quantiles of the same numbers, summed in another order: about 1e-15."""
PARTS = "estimate", "low", "high"


def measured(seed, sizes):
    """Two scores of the same questions, documents shuffled; labels far apart."""
    generator = np.random.default_rng(seed)
    labels = generator.permutation(90)[: len(sizes)] + 10
    documents = np.repeat(labels, sizes)
    hard = 2 * generator.normal(size=len(sizes)).repeat(sizes)
    lead = generator.normal(size=len(sizes)).repeat(sizes)
    theirs = hard + 0.3 * generator.normal(size=len(documents))
    ours = hard + lead + 0.3 * generator.normal(size=len(documents))
    order = generator.permutation(len(documents))
    return ours[order], theirs[order], documents[order]


def quantile(numbers, fraction):
    """With linear interpolation, from the sorted list."""
    numbers, place = sorted(numbers), fraction * (len(numbers) - 1)
    low = int(place)
    high = min(low + 1, len(numbers) - 1)
    return numbers[low] + (place - low) * (numbers[high] - numbers[low])


def resampled(values, documents, seed, resamples, level=0.95, of_means=False):
    """The definition, question by question."""
    labels = sorted(set(documents.tolist()))
    generator = np.random.default_rng(seed)
    means = []
    for _ in range(resamples):
        picks = generator.integers(len(labels), size=len(labels))
        drawn = [values[documents == labels[pick]].tolist() for pick in picks]
        if of_means:
            drawn = [[sum(own) / len(own)] for own in drawn]
        drawn = [x for own in drawn for x in own]
        means.append(sum(drawn) / len(drawn))
    ends = (1 - level) / 2, (1 + level) / 2
    return (float(values.mean()), *(float(quantile(means, end)) for end in ends))


@check(points=3, likely="whole documents are drawn; a long one weighs more.")
def test_unequal_documents(answer):
    """Six documents of unequal length, their questions mixed up"""
    ours, theirs, documents = measured(911, (3, 30, 11, 8, 1, 20))
    off = ours - theirs
    want = resampled(off, documents, 3, 200)
    mistakes = {
        "questions are resampled, not documents": resampled(
            off, np.arange(len(off)), 3, 200
        ),
        "every document weighs the same": resampled(
            off, documents, 3, 200, of_means=True
        ),
        "the interval is for 90%": resampled(off, documents, 3, 200, 0.9),
        "ours is subtracted from theirs": resampled(-off, documents, 3, 200),
    }
    got = answer.paired_interval(ours, theirs, documents, 3, resamples=200)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=1, likely="seed, number of resamples or level are not passed on.")
def test_every_argument(answer):
    """Other seeds, other levels, other numbers of resamples"""
    ours, theirs, documents = measured(912, (9, 2, 17, 6))
    off = ours - theirs
    for seed, resamples, level in ((0, 1, 0.95), (8, 50, 0.5), (9, 333, 0.99)):
        want = resampled(off, documents, seed, resamples, level)
        got = answer.paired_interval(
            ours, theirs, documents, seed, resamples=resamples, level=level
        )
        name = f"the interval for seed {seed}, level {level}"
        expect_same(got, want, tolerance=ROUNDING, name=name, parts=PARTS)
    want = resampled(off, documents, 4, 1000)
    got = answer.paired_interval(ours, theirs, documents, 4)
    expect_same(got, want, tolerance=ROUNDING, name="the default", parts=PARTS)


@check(points=2, likely="B has the factor m, and both variances have ddof=1.")
def test_design_effect(answer):
    """By hand, and against sums of squares in exact arithmetic"""
    parts = "correlation", "effect", "number"
    values = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    # B = 2 * (1/4), W = (0 + 0 + 1/2) / 3: rho = (1/2 - 1/6) / (1/2 + 1/6).
    got = answer.design_effect(values)
    expect_same(got, (0.5, 1.5, 4.0), tolerance=ROUNDING, parts=parts)
    generator = np.random.default_rng(913)
    for shape in ((2, 7), (12, 3), (5, 8)):
        values = generator.integers(-4, 5, shape) + 2.0 * generator.integers(
            -3, 4, (shape[0], 1)
        )
        want = by_sums_of_squares(values)
        got = answer.design_effect(values)
        name = f"the design effect of {list(shape)} values"
        expect_same(got, want, tolerance=ROUNDING, name=name, parts=parts)


def by_sums_of_squares(values_cm):
    """The one-way analysis of variance, in fractions."""
    rows = [[Fraction(x) for x in row] for row in values_cm.tolist()]
    count, m = values_cm.shape
    means = [sum(row) / m for row in rows]
    grand = sum(means) / count
    between = m * sum((x - grand) ** 2 for x in means) / (count - 1)
    squares = sum((x - a) ** 2 for row, a in zip(rows, means) for x in row)
    within = squares / (count * (m - 1))
    rho = max(Fraction(0), (between - within) / (between + (m - 1) * within))
    effect = 1 + (m - 1) * rho
    return float(rho), float(effect), float(count * m / effect)


@check(points=1, likely="a negative estimate and 0 / 0 both mean no correlation.")
def test_no_correlation(answer):
    """Constant values, documents that are all alike, documents that are constant"""
    parts = "correlation", "effect", "number"
    apart = np.array([[2.0, 2.0, 2.0], [5.0, 5.0, 5.0]])
    for values, want, what in (
        (np.full((3, 4), 0.5), (0.0, 1.0, 12.0), "constant values"),
        (np.array([[1.0, -1.0], [-1.0, 1.0]]), (0.0, 1.0, 4.0), "equal means"),
        (apart, (1.0, 3.0, 2.0), "constant documents"),
    ):
        got = answer.design_effect(values)
        name = f"the design effect of {what}"
        expect_same(got, want, tolerance=ROUNDING, name=name, parts=parts)


@check(points=1, likely="one document says nothing about the next one.")
def test_refused(answer):
    """A single document, a single question: ValueError"""
    ours, theirs, documents = measured(914, (20,))
    expect_raises(
        answer.paired_interval, ours, theirs, documents, 0, mentions="documents"
    )
    for shape in ((1, 5), (5, 1)):
        expect_raises(answer.design_effect, np.ones(shape), mentions="values_cm")
