"""What the compiled search keeps in arrays, so that it can stop and go on."""

from typing import NamedTuple

import numpy as np

from kvteach.rows._jit import jit

TIE = 1e-10
"""Errors that agree to this, relatively, count as equal."""

SLACK = 1e-13
"""Room for rounding in inner products, relative to the longest key squared.

The Gram form adds up about a hundred products and updates them along a path:
errors stay near 1e-14. A node closes only beyond this slack, so rounding can
cost time but no set. Light keys are a million times shorter than heavy ones:
once the heavy ones are excluded, `refresh` starts again on the small scale.
"""

STATE = np.dtype(
    [
        ("best", "f8"),  # error of the winner
        ("fraction", "f8"),  # nodes close at fraction * best
        ("noise", "f8"),  # errors below this are zero
        ("tie", "i8"),  # another set is as good
        ("first", "i8"),  # stop at the first set with error <= best, in order
        ("level", "i8"),  # included keys at the current node; -1: finished
        ("patience", "i8"),  # bounding steps at a node that stays open; else 4 times
        ("nodes", "i8"),
        ("work", "i8"),
    ]
)


class Problem(NamedTuple):
    """n keys scaled to ||gamma_j|| <= 1: what never changes during a search."""

    gram: np.ndarray  # [n, n]
    square: np.ndarray  # [n] its diagonal
    mass: np.ndarray  # [n]
    gamma: np.ndarray  # [n, D]
    size: int
    floor: float


class Levels(NamedTuple):
    """One row per number of included keys: the path to the current node."""

    keys: np.ndarray  # [s+1, n] active keys, ascending
    dots: np.ndarray  # [s+1, n] <y, u_j>
    base: np.ndarray  # [s+1, n] <U_I, u_j>
    part: np.ndarray  # [s+1, n] how much of key j the point y holds
    count: np.ndarray  # [s+1] active keys
    chosen: np.ndarray  # [s+1] position of the key being branched on, or -1
    forced: np.ndarray  # [s+1] whether excluding that key is already ruled out
    path: np.ndarray  # [s+1] the included keys
    point: np.ndarray  # [s+1, 3] ||y||^2, <y, U_I>, p(y)
    taken: np.ndarray  # [s+1, 2] ||U_I||^2, m_I
    slack: np.ndarray  # [s+1] room for rounding in dots
    longest: np.ndarray  # [s+1] largest ||u||^2 of the included keys
    price: np.ndarray  # [s+1, 2] level and ||y|| that the chosen key was priced at
    winner: np.ndarray  # [s] the best set so far


class Scratch(NamedTuple):
    """Buffers that every node overwrites."""

    cost: np.ndarray  # [n]
    vertex: np.ndarray  # [n] <vertex, u_j>
    least: np.ndarray  # [s+1] positions of the smallest costs, ascending
    value: np.ndarray  # [s+1] those costs
    low: np.ndarray  # [s] positions of a set below the floor
    high: np.ndarray  # [s] positions of a set above the floor
    sums: np.ndarray  # [3] <v, U_I>, <y, v>, p(v) of the vertex v
    trial: np.ndarray  # [s] a set offered as incumbent
    doomed: np.ndarray  # [n] active keys about to be dropped


@jit
def allocate(n, size):
    """Levels and Scratch for n keys."""
    rows = size + 1
    levels = Levels(
        np.zeros((rows, n), np.int64),
        np.zeros((rows, n)),
        np.zeros((rows, n)),
        np.zeros((rows, n)),
        np.zeros(rows, np.int64),
        np.full(rows, -1, np.int64),
        np.zeros(rows, np.bool_),
        np.zeros(rows, np.int64),
        np.zeros((rows, 3)),
        np.zeros((rows, 2)),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros((rows, 2)),
        np.zeros(size, np.int64),
    )
    scratch = Scratch(
        np.zeros(n),
        np.zeros(n),
        np.zeros(rows, np.int64),
        np.zeros(rows),
        np.zeros(size + 1, np.int64),
        np.zeros(size, np.int64),
        np.zeros(3),
        np.zeros(size, np.int64),
        np.zeros(n, np.bool_),
    )
    return levels, scratch
