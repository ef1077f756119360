"""Statistics over many rows: what holds beyond the documents that were measured.

The quantities and their published values: "Trust the Mass" (arXiv 2608.25230),
sections 2.2 to 2.4 and appendix B.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

HEADROOM = 0.9
"""A row has headroom when the best set has at most this share of top-mass's error."""


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
    if not isinstance(generator, np.random.Generator):
        raise ValueError(f"generator: {generator!r}; need numpy.random.default_rng(seed)")
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


def has_headroom(least_error, top_mass_error):
    """Rows where another set is better by at least 10%: E <= 0.9 e(A*), [n] bool.

    The same event as a gap ratio of at least 1 / 0.9; rows that top-mass keeps
    without error have none.
    """
    least, top = np.asarray(least_error), np.asarray(top_mass_error)
    return (top > 0) & (least <= HEADROOM * top)


def effective_keys(p):
    """1 / sum_j p_j^2, [...]: how many equal weights would be as concentrated."""
    return 1 / np.square(np.asarray(p, dtype=float)).sum(-1)


def auc(score, label):
    """Chance that a positive row scores above a negative one, ties counting half.

    score: [n]; label: [n] bool. NaN when one of the two kinds is absent.
    """
    score, label = np.asarray(score, dtype=float), np.asarray(label, dtype=bool)
    positives, negatives = int(label.sum()), int((~label).sum())
    if not positives or not negatives:
        return float("nan")
    wins = stats.mannwhitneyu(score[label], score[~label]).statistic
    return float(wins / (positives * negatives))


def spearman(a, b):
    """Rank correlation of two arrays [n]."""
    return float(stats.spearmanr(a, b).statistic)


def edge_over_interior(rate_by_layer, edge=2):
    """Mean rate in the first and last ``edge`` layers over that of all others.

    How many layers the published ratio calls edge is not stated: report several.
    Raises ValueError when no interior is left.
    """
    rate = np.asarray(rate_by_layer, dtype=float)
    if not 1 <= edge < len(rate) / 2:
        raise ValueError(f"edge: {edge} leaves no interior of {len(rate)} layers")
    return float(np.r_[rate[:edge], rate[-edge:]].mean() / rate[edge:-edge].mean())


def wilson_upper(successes, trials, level=0.95):
    """Upper end of the two-sided Wilson interval of a proportion."""
    test = stats.binomtest(successes, trials)
    return float(test.proportion_ci(confidence_level=level, method="wilson").high)


def median_cap(values, fraction):
    """Largest median that replacing at most ``fraction`` of the values could give.

    Raising a share f of the values moves the median at most to the old
    (0.5 + f)-quantile. Used with the rate at which a solver over all keys beat
    the enumeration of a pool. Raises ValueError for a fraction outside [0, 0.5).
    """
    if not 0 <= fraction < 0.5:
        raise ValueError(f"fraction: {fraction} is outside [0, 0.5)")
    return float(np.quantile(np.asarray(values, dtype=float), 0.5 + fraction))
