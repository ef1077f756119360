"""Who wins? Two methods on the same documents, with intervals and p-values.

Questions of a cluster share text, so clusters are resampled and permuted as a whole.
Scores are better when they are higher: give nats with their sign turned.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from kvteach.evaluate.atlas import intervals

RULES = ("sign", "interval", "holm")
_EXACT = 14  # up to this many clusters every way to turn signs is tried
_CHUNK = 4096


class Comparison(NamedTuple):
    """One cell: ours minus theirs over ``pairs`` questions in ``clusters`` clusters.

    difference, low, high: mean over pairs, 95% percentile interval over clusters, None
    ends for one cluster. p: sign-permutation test. wins, ties, losses: clusters
    whose mean difference is above, within, below the margin; sign_p: the sign test on
    them.
    """

    pairs: int
    clusters: int
    difference: float
    low: float | None
    high: float | None
    p: float
    wins: int
    ties: int
    losses: int
    sign_p: float


def compare(ours, theirs, clusters, margin=0.0, seed=0, draws=99_999):
    """The `Comparison` of two scores of the same questions, [n] each.

    clusters: [n] labels. margin: differences up to it are ties. draws: permutations
    where there are too many to try all. Raises ValueError for lengths that differ,
    scores that are not finite, and a negative margin.
    """
    ours, theirs, clusters = (
        np.asarray(ours, float),
        np.asarray(theirs, float),
        np.asarray(clusters),
    )
    if (
        not ours.shape == theirs.shape == clusters.shape
        or ours.ndim != 1
        or not len(ours)
    ):
        raise ValueError(
            f"ours: shape {ours.shape}; theirs {theirs.shape}, "
            f"clusters {clusters.shape}; need one length >= 1"
        )
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        raise ValueError("ours, theirs: some scores are not finite")
    if not margin >= 0:
        raise ValueError(f"margin: {margin}; need >= 0")
    differences = ours - theirs
    labels, of_row = np.unique(clusters, return_inverse=True)
    sums = np.bincount(of_row, differences)
    means = sums / np.bincount(of_row)
    estimate, low, high = intervals.mean(differences, of_row, seed)
    # A mean of .1 + .2 - .3 is a tie.
    slack = margin + 1e-12
    wins, losses = int((means > slack).sum()), int((means < -slack).sum())
    return Comparison(
        len(ours),
        len(labels),
        estimate,
        low,
        high,
        permutation_p(sums, seed, draws),
        wins,
        len(labels) - wins - losses,
        losses,
        sign_p(wins, losses),
    )


# --- tests ------------------------------------------------------------------------


def permutation_p(sums, seed=0, draws=99_999):
    """Two-sided p-value of cluster sums [C] if each could as well have its sign turned.

    If methods are exchangeable within a cluster, all 2^C signs are equally likely; p
    is the share that gives a total as far from 0. Up to 14 clusters all are tried;
    otherwise ``draws`` random ones and the observed one, so that p is never below
    1 / (draws + 1) and the test never too bold (Phipson and Smyth 2010).
    """
    sums = np.asarray(sums, float)
    sums = sums[sums != 0]
    if not len(sums):
        return 1.0
    seen = abs(sums.sum()) - 1e-9 * np.abs(sums).sum()
    if len(sums) <= _EXACT:
        which = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1
        return float((np.abs((1 - 2 * which) @ sums) >= seen).mean())
    generator, extreme = np.random.default_rng(seed), 1
    for first in range(0, draws, _CHUNK):
        size = (min(_CHUNK, draws - first), len(sums))
        signs = 1 - 2.0 * generator.integers(2, size=size, dtype=np.int8)
        extreme += int((np.abs(signs @ sums) >= seen).sum())
    return extreme / (draws + 1)


def sign_p(wins, losses):
    """Two-sided binomial p-value of so many wins and losses; ties are left out."""
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def holm(p):
    """Adjusted p-values [m] that hold for the whole family (Holm 1979).

    Sorted ascending, the i-th of m is multiplied by m - i + 1, and never falls below
    the one before. Rejecting those up to alpha errs anywhere with chance at most
    alpha, whatever the dependence.
    """
    p = np.asarray(p, float)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p: {p}; need a list of numbers in 0 .. 1")
    order = p.argsort(kind="stable")
    adjusted = np.empty_like(p)
    grown = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted[order] = np.minimum(grown, 1)
    return adjusted


# --- many cells -------------------------------------------------------------------


class Verdict(NamedTuple):
    """A `Comparison`, where it was made, and p adjusted for the whole family."""

    opponent: str
    cell: tuple
    comparison: Comparison
    p_holm: float

    def outcome(self, rule="interval", margin=0.0, alpha=0.05):
        """+1 a win for ours, 0 a tie, -1 a loss.

        "sign": the difference leaves the margin. "interval": the whole interval does.
        "holm": the difference does, and the adjusted p-value is at most ``alpha``.
        """
        if rule not in RULES:
            raise ValueError(f"rule: {rule!r}; there are {', '.join(RULES)}")
        _, _, difference, low, high, *_ = self.comparison
        if rule == "interval":
            low, high = (-np.inf, np.inf) if low is None else (low, high)
            return int(low > margin) - int(high < -margin)
        if rule == "holm" and self.p_holm > alpha:
            return 0
        return int(difference > margin) - int(difference < -margin)


def family(cells, margin=0.0, seed=0, draws=99_999):
    """Compare every cell of every opponent; a list of `Verdict`, Holm over all of them.

    cells: {opponent: {cell: (ours, theirs, clusters)}}, as `pairs` returns them.
    """
    named = [
        (who, cell, data) for who, own in cells.items() for cell, data in own.items()
    ]
    found = [compare(*data, margin, seed, draws) for _, _, data in named]
    adjusted = holm([c.p for c in found])
    return [
        Verdict(who, cell, comparison, float(p))
        for (who, cell, _), comparison, p in zip(named, found, adjusted)
    ]


def tally(verdicts, rule="interval", margin=0.0, alpha=0.05):
    """{opponent: (wins, ties, losses)} over its cells."""
    counts = {}
    for verdict in verdicts:
        count = counts.setdefault(verdict.opponent, [0, 0, 0])
        count[1 - verdict.outcome(rule, margin, alpha)] += 1
    return {who: tuple(count) for who, count in counts.items()}
