"""From rows to the numbers of the paper's tables and figures.

Every entry [x, low, high] is an estimate and its 95% interval over documents.
Definitions: "Trust the Mass" (arXiv 2608.25230), sections 2.2 to 2.4 and B.
"""

import numpy as np

from kvteach.evaluate.atlas.intervals import (
    auc,
    mean,
    or_none,
    over_documents,
    quantile,
    spearman,
)
from kvteach.evaluate.atlas.plan import AUDITED, LARGEST_SOLVED
from kvteach.rows import deployed, statistics

LARGEST_RATIO = 1e9
"""Gap ratios are cut here, where the better set has no error at all."""

EDGES = (1, 2, 3, 5)
PREDICTORS = ("dropped_mass", "effective_keys", "phi", "mass_bound", "spread_bound")


class Rows:
    """Columns of rows.parquet as arrays; `at` narrows them to one budget."""

    def __init__(self, columns):
        self.columns = columns

    @classmethod
    def of(cls, table):
        """From a table; ``documents`` are numbers, for resampling."""
        columns = {
            n: table[n].to_numpy(zero_copy_only=False) for n in table.column_names
        }
        if "document" in columns:
            names = np.array(columns["corpus"] + "/" + columns["document"], dtype=str)
            columns["documents"] = np.unique(names, return_inverse=True)[1]
        return cls(columns)

    def __getattr__(self, name):
        try:
            return self.columns[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, chosen):
        return Rows({name: column[chosen] for name, column in self.columns.items()})

    def at(self, budget):
        return self[self.budget == budget]

    @property
    def labelled(self):
        """Rows where the best set has at most 0.9 of top-mass's error."""
        return statistics.has_headroom(self.best_error, self.top_error)

    @property
    def kappa(self):
        return ratio(self.top_error, self.best_error)

    @property
    def mass_bound(self):
        """2 D times the dropped mass: the bound that holds for every set."""
        return 2 * self.farthest * self.dropped_mass

    @property
    def spread_bound(self):
        """sigma sqrt(dropped mass / kept mass)."""
        return self.spread * np.sqrt(self.dropped_mass / (1 - self.dropped_mass))


def ratio(a, b):
    """a / b where both are errors: 1 where neither exists, at most `LARGEST_RATIO`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(a == b, 1.0, np.minimum(a / b, LARGEST_RATIO))


def closure(rows, error):
    """Share of top-mass's error that another set closes, [n]."""
    return 1 - ratio(error, rows.top_error)


def summarise(table, plan):
    """All tables and figures that rows alone give, as a dict for summary.json."""
    rows = Rows.of(table)
    found = {
        "budgets": list(plan.budgets),
        "solved_budgets": [size for size in plan.budgets if size <= LARGEST_SOLVED],
        "documents": {
            c: sum(t.corpus == c for t in plan.texts) for c in sorted(set(rows.corpus))
        },
        "rows_per_budget": plan.rows_per_budget,
        "table_1": {size: _table_1(rows, size) for size in plan.budgets},
    }
    solved = found["solved_budgets"]
    found["table_8"] = {size: _table_8(rows.at(size)) for size in solved}
    found["tails"] = {size: _tails(rows.at(size)) for size in solved}
    found["predictors"] = {size: _predictors(rows.at(size)) for size in solved}
    found["table_2"] = {
        corpus: _table_2(rows, corpus, solved) for corpus in found["documents"]
    }
    found["figure_2"] = {size: _cells(rows.at(size), plan) for size in solved}
    if AUDITED in solved:
        found["table_6"] = _table_6(rows.at(AUDITED))
        found["figure_3"] = _figure_3(rows.at(AUDITED))
    return found


def _table_1(rows, size):
    here = rows.at(size)
    found = {
        "dropped_mass": quantile(here.dropped_mass, here.documents),
        "balanced_closure": quantile(
            closure(here, here.balanced_error), here.documents
        ),
        "balanced_share": mean(
            statistics.has_headroom(here.balanced_error, here.top_error),
            here.documents,
        ),
        "swaps": float(np.median(here.swaps)),
    }
    if AUDITED in rows.budget:
        gap = ratio(here.top_error, rows.at(AUDITED).top_error)
        found["gap_over_gap_at_8"] = quantile(gap, here.documents)
    return found


def _table_8(rows):
    def median(values):
        return quantile(values, rows.documents)

    def p99(values):
        return quantile(values, rows.documents, 0.99)

    def share(label):
        return mean(label, rows.documents)

    pi, kappa = ratio(rows.best_error, rows.free_error), rows.kappa
    balanced = ratio(rows.balanced_error, rows.best_error)
    return {
        "kappa": median(kappa),
        "kappa_p99": p99(kappa),
        "share": share(rows.labelled),
        "closure": median(closure(rows, rows.best_error)),
        "top_mass_is_best": share(kappa < 1 + 1e-9),
        "frank_wolfe": median(ratio(rows.frank_wolfe_error, rows.top_error)),
        "leverage": median(ratio(rows.leverage_error, rows.top_error)),
        "vote": median(ratio(rows.vote_error, rows.top_error)),
        "pi": median(pi),
        "pi_p99": p99(pi),
        "rho_phi": spearman(rows.phi, rows.best_error, rows.documents),
        "balanced_kappa": median(balanced),
        "balanced_is_best": share(balanced < 1 + 1e-9),
    }


def _tails(rows):
    closed = closure(rows, rows.best_error)
    return {
        "closure_median": quantile(closed, rows.documents),
        "closure_mean": mean(closed, rows.documents),
        "closure_p90": quantile(closed, rows.documents, 0.9),
        "closure_p99": quantile(closed, rows.documents, 0.99),
        "kappa_within_1.5": mean(rows.kappa <= 1.5, rows.documents),
        "kappa_within_2": mean(rows.kappa <= 2, rows.documents),
    }


def _predictors(rows):
    """AUC of the headroom label by everything that one pass over a row gives."""
    return {
        name: auc(getattr(rows, name), rows.labelled, rows.documents)
        for name in PREDICTORS
    }


def _table_2(rows, corpus, solved):
    found = {}
    for size in solved:
        here = rows[(rows.corpus == corpus) & (rows.budget == size)]
        found[size] = {
            "auc": auc(here.dropped_mass, here.labelled, here.documents),
            "share": mean(here.labelled, here.documents),
            "kappa": quantile(here.kappa, here.documents),
        }
    return found


def _cells(rows, plan):
    """Figure 2: medians per layer and head, and how well one predicts the other."""
    shape = (plan.layers, plan.heads)
    order = np.lexsort((rows.head, rows.layer))
    mass, kappa = (
        np.median(x[order].reshape(*shape, -1), -1)
        for x in (rows.dropped_mass, rows.kappa)
    )
    labelled = kappa >= 1 / statistics.HEADROOM
    return {
        "dropped_mass": mass.tolist(),
        "kappa": kappa.tolist(),
        "labelled_share": float(labelled.mean()),
        "auc": or_none(statistics.auc(mass.ravel(), labelled.ravel())),
    }


def _table_6(rows):
    layers = rows.layer.max() + 1
    label = rows.labelled.astype(float)
    cells, of_row = np.unique(np.c_[rows.layer, rows.head], axis=0, return_inverse=True)
    rate = np.bincount(of_row, label) / np.bincount(of_row)
    edges = [edge for edge in EDGES if 2 * edge < layers]
    return {
        "auc": auc(rows.dropped_mass, label, rows.documents),
        "edge_over_interior": {
            edge: over_documents(
                np.c_[rate, np.minimum(cells[:, 0], layers - 1 - cells[:, 0]) < edge],
                np.arange(len(cells)),
                _edge_ratio,
            )
            for edge in edges
        },
        "rho_depth": over_documents(
            np.c_[rows.layer, rows.dropped_mass, label],
            rows.documents,
            _depth_correlation,
        ),
        "rho_phi": spearman(rows.phi, rows.best_error, rows.documents),
        "rate_by_layer": [float(label[rows.layer == i].mean()) for i in range(layers)],
    }


def _figure_3(rows):
    """How dropped mass predicts that a deployed rule errs over 1/0.9 times the best."""
    found = {"certificate": _roc(rows, rows.dropped_mass, rows.labelled)}
    for rule in deployed.RULES:
        error, mass = (getattr(rows, f"{rule}_{what}") for what in ("error", "mass"))
        excess = statistics.has_headroom(rows.best_error, error)
        found[rule] = _roc(rows, rows.dropped_mass, excess)
        found[rule]["auc_of_own_mass"] = auc(mass, excess, rows.documents)
        found[rule]["error_over_best"] = quantile(
            ratio(error, rows.best_error), rows.documents
        )
    return found


def _roc(rows, score, label):
    """AUC, share of positives, 41 points [false, true positive rate]."""
    thresholds = np.quantile(score, np.linspace(1, 0, 41))
    points = (
        [
            [float((score[~label] >= t).mean()), float((score[label] >= t).mean())]
            for t in thresholds
        ]
        if label.any() and not label.all()
        else []
    )
    return {
        "auc": auc(score, label, rows.documents),
        "share": mean(label, rows.documents),
        "roc": points,
    }


def _spearman(columns):
    """Rank correlation of two columns; NaN where one is constant."""
    if not np.ptp(columns, axis=0).all():
        return np.nan
    return statistics.spearman(columns[:, 0], columns[:, 1])


def _edge_ratio(cells):
    rate, edge = cells[:, 0], cells[:, 1] > 0
    if edge.all() or not edge.any() or not rate[~edge].any():
        return LARGEST_RATIO
    return rate[edge].mean() / rate[~edge].mean()


def _depth_correlation(columns):
    layer, mass, label = columns.T
    each = [layer == i for i in np.unique(layer)]
    return _spearman(
        np.array([[np.median(mass[rows]), label[rows].mean()] for rows in each])
    )
