"""Checks of ch05/bootstrap_over_documents."""

import statistics

import numpy as np

from kvteach.grading.checks import Exercise, check, expect_raises, expect_same

EXERCISE = Exercise(
    number=5,
    title="An interval over documents",
    difficulty=3,
    minutes=35,
    hints=(
        "Ask one person a thousand times, or a thousand people once: both give a "
        "thousand answers. What would be different in a second survey?",
        "One resample: draw as many documents as there are, put all rows of the drawn "
        "ones together, a document drawn twice twice, and take one median.",
        "members = [values[documents == label] for label in np.unique(documents)]; "
        "np.median(np.concatenate([members[i] for i in picks])); for a difference draw "
        "the rows once and take both medians over them.",
    ),
)

ROUNDING = 1e-12
"""Medians and quantiles of the same numbers: float64 rounds to about 1e-16."""
PARTS = "estimate", "low", "high"


def measured(seed, sizes):
    """Values of documents of several sizes, shuffled; each has a level of its own."""
    generator = np.random.default_rng(seed)
    labels = generator.permutation(90)[: len(sizes)] + 10
    documents = np.repeat(labels, sizes)
    values = generator.normal(size=len(sizes)).repeat(sizes)
    values = values + 0.3 * generator.normal(size=len(values))
    order = generator.permutation(len(values))
    return values[order], documents[order]


def quantile(numbers, fraction):
    """With linear interpolation, from the sorted list."""
    numbers, place = sorted(numbers), fraction * (len(numbers) - 1)
    low = int(place)
    high = min(low + 1, len(numbers) - 1)
    return numbers[low] + (place - low) * (numbers[high] - numbers[low])


def drawn_rows(documents, seed, resamples):
    """The rows of each resample, row by row."""
    labels = sorted(set(documents.tolist()))
    generator = np.random.default_rng(seed)
    for _ in range(resamples):
        picks = generator.integers(len(labels), size=len(labels))
        yield [
            row
            for pick in picks
            for row, document in enumerate(documents.tolist())
            if document == labels[pick]
        ]


def interval(estimate, numbers, level=0.95):
    """The percentile interval of a list of resampled numbers."""
    ends = (1 - level) / 2, (1 + level) / 2
    return (float(estimate), *(float(quantile(numbers, end)) for end in ends))


def over_documents(values, documents, seed, resamples, level=0.95):
    """The definition, in Python lists."""
    x = values.tolist()
    medians = [
        statistics.median(x[row] for row in rows)
        for rows in drawn_rows(documents, seed, resamples)
    ]
    return interval(statistics.median(x), medians, level)


def over_rows(values, seed, resamples):
    """The mistake of all mistakes: rows are resampled."""
    generator = np.random.default_rng(seed)
    picks = generator.integers(len(values), size=(resamples, len(values)))
    return interval(np.median(values), np.median(values[picks], axis=1).tolist())


@check(points=2, likely="whole documents are drawn, with all their rows.")
def test_unequal_documents(answer):
    """Six documents of unequal length, their rows mixed up"""
    values, documents = measured(519, (3, 40, 11, 8, 1, 25))
    want = over_documents(values, documents, seed=3, resamples=200)
    mistakes = {
        "rows are resampled, not documents": over_rows(values, 3, 200),
        "the interval is for 90%": over_documents(values, documents, 3, 200, 0.9),
    }
    got = answer.bootstrap_over_documents(values, documents, 3, resamples=200)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)


@check(points=1, likely="seed, number of resamples or level are not passed on.")
def test_every_argument(answer):
    """Other seeds, other levels, other numbers of resamples"""
    values, documents = measured(520, (9, 2, 17, 6))
    for seed, resamples, level in ((0, 1, 0.95), (8, 50, 0.5), (9, 333, 0.99)):
        want = over_documents(values, documents, seed, resamples, level)
        got = answer.bootstrap_over_documents(
            values, documents, seed, resamples=resamples, level=level
        )
        name = f"the interval for seed {seed}, level {level}"
        expect_same(got, want, tolerance=ROUNDING, name=name, parts=PARTS)
    want = over_documents(values, documents, 4, 1000)
    got = answer.bootstrap_over_documents(values, documents, 4)
    expect_same(got, want, tolerance=ROUNDING, name="the default", parts=PARTS)


@check(points=2, likely="both medians belong to the same drawn rows.")
def test_paired(answer):
    """Two rules on the same rows: what documents share cancels"""
    second, documents = measured(521, (12, 7, 1, 30, 5))
    first = second + 0.1 * np.random.default_rng(522).exponential(size=len(second))
    numbers, own = [], []
    for rows in drawn_rows(documents, 11, 150):
        numbers.append(np.median(first[rows]) - np.median(second[rows]))
        own.append(np.median(first[rows] - second[rows]))
    estimate = np.median(first) - np.median(second)
    want = interval(estimate, numbers)
    mistakes = {
        "the median of the differences is taken": interval(
            np.median(first - second), own
        ),
        "second is subtracted from nothing": over_documents(first, documents, 11, 150),
        "the sign is turned round": interval(-estimate, [-x for x in numbers]),
    }
    got = answer.paired_difference(first, second, documents, 11, resamples=150)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes, parts=PARTS)
    want = interval(estimate, numbers, level=0.6)
    got = answer.paired_difference(
        first, second, documents, 11, resamples=150, level=0.6
    )
    expect_same(got, want, tolerance=ROUNDING, parts=PARTS)


@check(points=1, likely="the rows of one document say nothing about the next one.")
def test_one_document(answer):
    """A single document: ValueError"""
    values, documents = measured(523, (20,))
    function = answer.bootstrap_over_documents
    expect_raises(function, values, documents, 0, mentions="documents")
    function = answer.paired_difference
    expect_raises(function, values, 2 * values, documents, 0, mentions="documents")
