"""Estimates with 95% intervals over documents, as they stand in summary.json."""

import numpy as np

from kvteach.rows import statistics

RESAMPLES = 1000


def over_documents(values, documents, statistic=np.median, seed=0):
    """[estimate, low, high] of ``statistic``, whole documents resampled.

    values: [n] or [n, ...]; documents: [n] labels. Numbers that do not exist are
    None: the ends where one document is all there is, a correlation with a constant.
    """
    if len(np.unique(documents)) < 2:
        return [or_none(statistic(values)), None, None]
    generator = np.random.default_rng(seed)
    found = statistics.bootstrap_documents(
        values, documents, generator, statistic, RESAMPLES
    )
    return [or_none(x) for x in found]


def or_none(x):
    """A number for JSON, which has none for "does not exist"."""
    return float(x) if np.isfinite(x) else None


def auc(score, label, documents, seed=0):
    """[AUC, low, high]; the same as `over_documents` with `statistics.auc`, at once.

    Positives of document a beat negatives of document b in wins[a, b] pairs; a
    resample that draws documents c times has c'(wins)c of them.
    """
    score, label = np.asarray(score, float), np.asarray(label, bool)
    names = np.unique(documents)
    up = [score[(documents == name) & label] for name in names]
    down = [np.sort(score[(documents == name) & ~label]) for name in names]
    wins = np.array([[_wins(a, b) for b in down] for a in up])
    positives, negatives = (np.array([len(x) for x in side]) for side in (up, down))
    if not positives.sum() or not negatives.sum():
        return [None, None, None]
    estimate = float(wins.sum() / (positives.sum() * negatives.sum()))
    if len(names) < 2:
        return [estimate, None, None]
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(
        len(names), np.full(len(names), 1 / len(names)), RESAMPLES
    )
    pairs = (drawn @ positives) * (drawn @ negatives)
    shares = np.einsum("ra,ab,rb->r", drawn, wins, drawn)[pairs > 0] / pairs[pairs > 0]
    return [estimate, *map(float, np.quantile(shares, [0.025, 0.975]))]


def _wins(up, down):
    """Pairs in which a positive scores above a negative, ties counting half."""
    below, through = (
        np.searchsorted(down, up, "left"),
        np.searchsorted(down, up, "right"),
    )
    return (below + through).sum() / 2
