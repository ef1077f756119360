"""Which scores belong together: the same questions, at the same budget or bytes.

A table of results has one row a question: what was run (method, and cell columns such
as task, length, budget), what it ran on (`UNIT`), and what came out.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

UNIT = ("cluster", "document", "question")
"""Columns that say which question a row answers; a pair agrees in all of them."""


def at_bytes(held, scores, target):
    """A method's score had it held ``target`` bytes; NaN outside what was measured.

    held, scores: [J] of one document at J budgets, in any order. Linear between
    neighbours in the logarithm of bytes, because budgets double. Budgets that hold
    equally many bytes count as one, with their mean score.
    """
    held, scores = np.asarray(held, float), np.asarray(scores, float)
    if (
        held.shape != scores.shape
        or held.ndim != 1
        or not len(held)
        or not (held > 0).all()
    ):
        raise ValueError(f"held: {held} for scores {scores}; need as many, all > 0")
    bytes_, of_budget = np.unique(held, return_inverse=True)
    means = np.bincount(of_budget, scores) / np.bincount(of_budget)
    if not bytes_[0] <= target <= bytes_[-1]:
        return float("nan")
    return float(np.interp(np.log(target), np.log(bytes_), means))


def pairs(table, ours, theirs, value="exact", cell=("task", "length", "budget")):
    """Questions that both methods answered, by cell: {cell: (ours, theirs, clusters)}.

    table: a pyarrow table with columns method, `UNIT`, ``cell`` and ``value``. Raises
    ValueError when a method answers one question of a cell twice, or they do not
    answer the same ones: a comparison on other documents is none.
    """
    mine, other = (_by_unit(table, name, value, cell) for name in (ours, theirs))
    if mine.keys() != other.keys():
        lost = next(iter(mine.keys() ^ other.keys()))
        raise ValueError(f"table: only one of {ours!r} and {theirs!r} has {lost}")
    return _split(((key, mine[key], other[key]) for key in mine), len(cell))


def pairs_at_equal_bytes(
    table, ours, theirs, value="exact", cell=("task", "length"), held="held_bytes"
):
    """Theirs at every budget against ours at the bytes that theirs held there.

    As `pairs`, with cells (*cell, budget of theirs); returns (cells, {cell: questions
    left out}). A question is left out where theirs held fewer bytes than ours at its
    smallest budget, or more than at its largest: never extrapolated.
    """
    mine = _by_unit(table, ours, (held, value), (*cell, "budget"))
    curves = {}
    for key, point in mine.items():
        curves.setdefault((key[: len(cell)], key[len(cell) + 1 :]), []).append(point)
    found, outside = [], {}
    for key, (bytes_, score) in _by_unit(
        table, theirs, (held, value), (*cell, "budget")
    ).items():
        name, unit = key[: len(cell)], key[len(cell) + 1 :]
        if (name, unit) not in curves:
            raise ValueError(f"table: {ours!r} has no {(*name, *unit)}")
        matched = at_bytes(*zip(*curves[name, unit]), bytes_)
        where = key[: len(cell) + 1]
        outside[where] = outside.get(where, 0) + int(np.isnan(matched))
        if not np.isnan(matched):
            found.append((key, matched, score))
    return _split(found, len(cell) + 1), outside


def _by_unit(table, method, value, cell):
    """{(*cell, *unit): value, or a tuple of several} of one method."""
    values = (value,) if isinstance(value, str) else value
    rows = table.filter(pc.equal(table["method"], method))
    if not len(rows):
        raise ValueError(f"method: {method!r} is not in the table")
    keys = list(zip(*(rows[name].to_pylist() for name in (*cell, *UNIT))))
    columns = [rows[name].cast(pa.float64()).to_pylist() for name in values]
    found = dict(zip(keys, columns[0] if isinstance(value, str) else zip(*columns)))
    if len(found) < len(keys):
        raise ValueError(f"table: {method!r} answers a question twice in one cell")
    return found


def _split(rows, width):
    """Rows (key, ours, theirs) as {cell: (ours [n], theirs [n], clusters [n])}."""
    cells = {}
    for key, a, b in rows:
        cells.setdefault(key[:width], []).append((a, b, key[width]))
    return {
        name: tuple(np.array(column) for column in zip(*found))
        for name, found in cells.items()
    }
