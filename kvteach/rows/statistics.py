"""Statistics over many rows: what holds beyond the documents that were measured."""

from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval."""

    estimate: float
    low: float
    high: float

    def __format__(self, spec):
        """``f"{interval:.3f}"`` gives ``0.123 [0.100, 0.150]``."""
        estimate, low, high = (format(x, spec) for x in self)
        return f"{estimate} [{low}, {high}]"


def bootstrap_documents(
    values, documents, generator, statistic=np.median, resamples=1000, level=0.95
):
    """Percentile interval of ``statistic`` when whole documents are resampled.

    Rows of one document share its text, so they are no independent sample:
    each resample draws documents with replacement and takes all their rows.

    values: [n] or [n, ...]; documents: [n] labels; generator: a NumPy
    Generator; statistic: maps an array [m, ...] to a number. Cost: ``resamples``
    calls of it. Raises ValueError for lengths that differ, fewer than two
    documents, values that are not finite, and levels outside (0, 1).
    """
    values, documents = np.asarray(values, dtype=float), np.asarray(documents)
    if values.shape[:1] != documents.shape:
        raise ValueError(
            f"documents: {documents.shape} labels for {values.shape[:1]} values"
        )
    if not 0 < level < 1:
        raise ValueError(f"level: {level} is outside (0, 1)")
    if resamples < 1:
        raise ValueError(f"resamples: {resamples}; need at least 1")
    if not np.isfinite(values).all():
        raise ValueError("values: some are not finite")
    labels = np.unique(documents)
    if len(labels) < 2:
        raise ValueError(f"documents: {len(labels)} distinct; need at least 2 to resample")
    members = [values[documents == label] for label in labels]
    drawn = np.empty(resamples)
    for i in range(resamples):
        picks = generator.integers(len(members), size=len(members))
        drawn[i] = statistic(np.concatenate([members[pick] for pick in picks]))
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(float(statistic(values)), float(low), float(high))
