"""Which scores belong together: the same questions, at the same budget or bytes.

A table of results has one row a question: what was run (method, and cell columns such
as task, condition, budget), what it ran on (`UNIT`), and what came out.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

UNIT = ("cluster", "document", "question")
"""Columns that say which question a row answers; a pair agrees in all of them."""


def rows(table, **wanted):
    """The rows of a pyarrow table whose columns have the wanted values."""
    for name, value in wanted.items():
        table = table.filter(pc.equal(table[name], pa.scalar(value)))
    return table


def pairs(ours, theirs, cell, value="exact"):
    """Scores of the same questions, {cell: (ours [n], theirs [n], clusters [n])}.

    ours, theirs: tables of one method each. cell: names of the columns that a pair
    shares, such as ("task", "budget"). value: the column that is compared. Cells that
    only one of them has are left out. Raises ValueError when one answers a question of
    a cell twice, or when they answer different ones: other documents are no pair.
    """
    mine, other = (_by_unit(table, (value,), cell) for table in (ours, theirs))
    shared = {key[: len(cell)] for key in mine} & {key[: len(cell)] for key in other}
    mine, other = (
        {key: point for key, point in side.items() if key[: len(cell)] in shared}
        for side in (mine, other)
    )
    if mine.keys() != other.keys():
        lost = next(iter(mine.keys() ^ other.keys()))
        raise ValueError(f"ours, theirs: only one of them has {lost}")
    return _split(((key, *mine[key], *other[key]) for key in mine), len(cell))


def pairs_at_equal_bytes(ours, theirs, cell, value="exact", held="held_bytes"):
    """Theirs at each budget against ours at the bytes that theirs held there.

    ours, theirs: tables of one method each, at several budgets. Every question has its
    own curve of score over bytes (`at_bytes`). Returns (pairs, left_out): as `pairs`
    with cells (*cell, budget of theirs), and how many questions of each such cell were
    left out, because theirs held fewer bytes than ours at its smallest budget or more
    than at its largest. Nothing is extrapolated.
    """
    width = len(cell)
    curves = {}
    for key, point in _by_unit(ours, (held, value), (*cell, "budget")).items():
        curves.setdefault(key[:width] + key[width + 1 :], []).append(point)
    found, left_out = [], {}
    for key, point in _by_unit(theirs, (held, value), (*cell, "budget")).items():
        curve = curves.get(key[:width] + key[width + 1 :])
        if curve is None:
            raise ValueError(f"ours: has no answer to {key}")
        matched = at_bytes(*zip(*curve), point[0])
        where = key[: width + 1]
        left_out[where] = left_out.get(where, 0) + int(np.isnan(matched))
        if not np.isnan(matched):
            found.append((key, matched, point[1]))
    return _split(found, width + 1), left_out


def at_bytes(held, scores, target):
    """A method's score had it held ``target`` bytes; NaN outside what was measured.

    held, scores: [J] of one document at J budgets, in any order. Linear between
    neighbours in the logarithm of bytes, because budgets double. Budgets that hold
    equally many bytes count as one, with their mean score.
    """
    held, scores = np.asarray(held, float), np.asarray(scores, float)
    if held.shape != scores.shape or held.ndim != 1 or not len(held) or held.min() <= 0:
        raise ValueError(f"held: {held} for scores {scores}; need as many, all > 0")
    sizes, of_budget = np.unique(held, return_inverse=True)
    means = np.bincount(of_budget, scores) / np.bincount(of_budget)
    if not sizes[0] <= target <= sizes[-1]:
        return float("nan")
    return float(np.interp(np.log(target), np.log(sizes), means))


def _by_unit(table, values, cell):
    """{(*cell, *unit): one number for each of ``values``}."""
    keys = list(zip(*(table[name].to_pylist() for name in (*cell, *UNIT))))
    columns = (table[name].cast(pa.float64()).to_pylist() for name in values)
    found = dict(zip(keys, zip(*columns)))
    if len(found) < len(keys):
        raise ValueError(
            "table: a question of one cell is answered twice; need one method"
        )
    return found


def _split(found, width):
    """Rows (key, ours, theirs) as {cell: (ours [n], theirs [n], clusters [n])}."""
    cells = {}
    for key, a, b in found:
        cells.setdefault(key[:width], []).append((a, b, key[width]))
    return {
        name: tuple(np.array(column) for column in zip(*members))
        for name, members in cells.items()
    }
