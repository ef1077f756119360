"""Intervals that respect where rows come from: resample documents, not rows."""

import numpy as np


def bootstrap_over_documents(values, documents, seed, resamples=1000, level=0.95):
    """Return the median of the values and a percentile interval for it.

    Rows of one document share its text and are no independent sample. So each
    resample draws documents, as many as there are, with replacement, takes all
    rows of each document drawn, as often as it was drawn, and computes the median
    of all these rows together. The interval holds the middle ``level`` of the
    medians: from their (1 - level) / 2 quantile to their (1 + level) / 2
    quantile, with numpy.quantile.

    To be reproducible, resample i draws positions in the ascending list of
    distinct labels by the i-th call of

        generator.integers(number_of_documents, size=number_of_documents)

    on generator = numpy.random.default_rng(seed), and nothing else is drawn.

    values: [n] NumPy float64; documents: [n] NumPy integer labels, in any order,
    not all different and not necessarily 0, 1, 2, ...; seed, resamples: ints
    level: float in (0, 1)

    Returns (estimate, low, high), Python floats: the estimate is the median of
    all values as they are. Raises ValueError, with the word "documents" in the
    message, where there are fewer than two. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    labels = np.unique(documents)
    if len(labels) < 2:
        raise ValueError(f"documents: {len(labels)} distinct; need at least 2")
    members = [values[documents == label] for label in labels]
    generator = np.random.default_rng(seed)
    medians = []
    for _ in range(resamples):
        picks = generator.integers(len(labels), size=len(labels))
        # All rows of the drawn documents in one sample: a long document counts
        # with all its rows, here as in the estimate.
        medians.append(np.median(np.concatenate([members[i] for i in picks])))
    low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
    return float(np.median(values)), float(low), float(high)
    # END SOLUTION


def paired_difference(first, second, documents, seed, resamples=1000, level=0.95):
    """Return the difference of two medians over the same rows, and its interval.

    Two rules were measured on the same rows: first[i] and second[i] belong to row
    i. What is wanted is median(first) - median(second). Each resample draws
    documents as in `bootstrap_over_documents` and takes both medians over the
    same drawn rows: what makes a document hard for both rules then cancels.

    first, second: [n] NumPy float64; everything else as there
    Returns (estimate, low, high), Python floats, and raises ValueError as there.
    """
    # BEGIN SOLUTION
    labels = np.unique(documents)
    if len(labels) < 2:
        raise ValueError(f"documents: {len(labels)} distinct; need at least 2")
    rows = [np.flatnonzero(documents == label) for label in labels]
    generator = np.random.default_rng(seed)
    differences = []
    for _ in range(resamples):
        picks = generator.integers(len(labels), size=len(labels))
        drawn = np.concatenate([rows[i] for i in picks])
        # Not the median of first - second, which is another quantity: the two
        # medians are published one beside the other.
        differences.append(np.median(first[drawn]) - np.median(second[drawn]))
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2])
    return float(np.median(first) - np.median(second)), float(low), float(high)
    # END SOLUTION
