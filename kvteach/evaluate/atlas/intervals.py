"""Estimates with 95% intervals over documents, as they stand in summary.json.

Rows of one document share its text, so whole documents are resampled: a draw
takes document d c_d times. What a draw needs is computed from c, without copying
rows about; `over_documents` does it the plain way for any other statistic.
"""

import numpy as np

from kvteach.rows import statistics

RESAMPLES = 1000


def over_documents(values, documents, statistic, seed=0):
    """[estimate, low, high] of ``statistic``, whole documents resampled.

    values: [n] or [n, ...]; documents: [n] labels. Numbers that do not exist are
    None: the ends where one document is all there is, a correlation with a constant.
    """
    if len(np.unique(documents)) < 2:
        return [or_none(statistic(values)), None, None]
    found = statistics.bootstrap_documents(
        values, documents, np.random.default_rng(seed), statistic, RESAMPLES
    )
    return [or_none(x) for x in found]


def mean(values, documents, seed=0):
    """[mean, low, high] of values [n]."""
    values = np.asarray(values, float)
    labels, of_row = np.unique(documents, return_inverse=True)
    draws = _draws(len(labels), seed)
    sums, counts = np.bincount(of_row, values), np.bincount(of_row)
    return _interval(values.mean(), (draws @ sums) / (draws @ counts), labels)


def quantile(values, documents, q=0.5, seed=0):
    """[q-quantile, low, high] of values [n], the median by default.

    Values are sorted once; a draw then only counts how often each occurs.
    """
    values = np.asarray(values, float)
    labels, of_row = np.unique(documents, return_inverse=True)
    order = values.argsort(kind="stable")
    ordered, of_row = values[order], of_row[order]
    draws = _draws(len(labels), seed)
    found = [repeated_quantile(ordered, draw[of_row], q) for draw in draws]
    return _interval(np.quantile(values, q), found, labels)


def repeated_quantile(ordered, counts, q):
    """np.quantile(np.repeat(ordered, counts), q) for ascending values."""
    through = counts.cumsum()
    place = q * (through[-1] - 1)
    below = int(place)
    ends = np.searchsorted(through, [below, min(below + 1, through[-1] - 1)], "right")
    return ordered[ends[0]] + (place - below) * (ordered[ends[1]] - ordered[ends[0]])


def spearman(a, b, documents, seed=0):
    """[rank correlation, low, high] of a and b, [n]; None where one is constant.

    Values are ranked once; in a draw, a value has the mean rank of its copies.
    """
    labels, of_row = np.unique(documents, return_inverse=True)
    groups = [np.unique(x, return_inverse=True)[1] for x in (a, b)]
    if not all(group.any() for group in groups):
        return [None, None, None]
    found = [
        _repeated_spearman(*groups, draw[of_row]) for draw in _draws(len(labels), seed)
    ]
    once = np.ones(len(of_row), int)
    return _interval(_repeated_spearman(*groups, once), found, labels)


def _repeated_spearman(a, b, counts):
    """Rank correlation when row i occurs counts[i] times; a and b number the values."""
    ranks = []
    for group in (a, b):
        copies = np.bincount(group, counts)
        ranks.append((copies.cumsum() - copies / 2)[group])
    x, y = (rank - np.average(rank, weights=counts) for rank in ranks)
    return (counts * x * y).sum() / np.sqrt(
        (counts * x * x).sum() * (counts * y * y).sum()
    )


def auc(score, label, documents, seed=0):
    """[AUC, low, high] of scores [n] for labels [n] bool.

    Positives of document a beat negatives of document b in wins[a, b] pairs; a
    draw has c'(wins)c of them.
    """
    score, label = np.asarray(score, float), np.asarray(label, bool)
    names = np.unique(documents)
    up = [score[(documents == name) & label] for name in names]
    down = [np.sort(score[(documents == name) & ~label]) for name in names]
    wins = np.array([[_wins(a, b) for b in down] for a in up])
    positives, negatives = (np.array([len(x) for x in side]) for side in (up, down))
    if not positives.sum() or not negatives.sum():
        return [None, None, None]
    draws = _draws(len(names), seed)
    pairs = (draws @ positives) * (draws @ negatives)
    won = np.einsum("ra,ab,rb->r", draws, wins, draws)
    estimate = wins.sum() / (positives.sum() * negatives.sum())
    return _interval(estimate, won[pairs > 0] / pairs[pairs > 0], names)


def _wins(up, down):
    """Pairs in which a positive scores above a negative, ties counting half."""
    below = np.searchsorted(down, up, "left")
    through = np.searchsorted(down, up, "right")
    return (below + through).sum() / 2


def _draws(count, seed):
    """How often each of ``count`` documents is drawn, [RESAMPLES, count]."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(count, np.full(count, 1 / count), RESAMPLES)


def _interval(estimate, resampled, labels):
    if len(labels) < 2:
        return [float(estimate), None, None]
    return [float(estimate), *map(float, np.quantile(resampled, [0.025, 0.975]))]


def or_none(x):
    """A number for JSON, which has none for "does not exist"."""
    return float(x) if np.isfinite(x) else None
