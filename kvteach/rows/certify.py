"""The best subset of ALL visible keys of a row, with a proof.

`best_subset` on a pool gives an upper bound of the row's optimum E. `certify`
bounds E from both sides by branch and bound over every key: upper is the error
of a set that it returns, lower a number that no set of that size can beat. On
rows with concentrated weights it finishes in milliseconds; on flat rows, where
many light keys can average to the dense output, it may run out of time, and
says so. (The problem is NP-hard: arXiv 2608.25230, Lemma A.5.)
"""

import functools
import time
from typing import NamedTuple

import numpy as np
import torch

from kvteach.rows import exact
from kvteach.rows.error import as_row

LADDER = (0.1, 0.25, 0.5, 0.7, 0.85, 0.95)
"""Shares of the upper bound that are tried as lower bounds when time is short."""

TARGET_SHARE = 0.85  # of the time limit, before the ladder
PATIENCE = 6  # bounding steps at open nodes: sharp bounds pay on hard rows
SLICE = 4_000_000  # work between two looks at the clock: some milliseconds


class Certificate(NamedTuple):
    """What is proved about E, the least forced error of any allowed set."""

    indices: torch.Tensor  # [s] int64, ascending: a set with error `upper`
    upper: float
    lower: float  # no allowed set has a smaller error
    proved: bool  # lower >= (1 - gap) upper, or upper is zero up to rounding
    nodes: int  # of the search tree, all attempts together
    seconds: float


def certify(p, v, size, floor=None, gap=0.01, time_limit=10.0, through=None):
    """Bound the least forced error over all sets of ``size`` keys of one row.

    p: [S] weights; v: [S, D] values. floor: only sets that keep at least floor
    times the mass of the top-mass set. gap: how close, relatively, lower must
    come to upper. time_limit: wall-clock seconds; the compilation at the first
    call does not count. through: [E, D] matrix after which lengths are measured.
    Returns `Certificate`, also when the time is up or at KeyboardInterrupt (while
    searching, not while compiling): then lower is what was proved so far, perhaps 0.

    Method: swap search for upper; then depth-first branch and bound for
    "every set has an error of at least (1 - gap) upper", upper falling as
    better sets are met; if that does not finish, smaller shares of upper.

    Cost: 8 S^2 bytes for the Gram matrix; time from milliseconds to the limit.
    Raises ValueError for shapes that do not fit, a gap outside 0 .. 1, a time
    limit that is not positive, and a floor outside 0 .. 1.
    """
    p, v = as_row(p, v)
    if p.ndim != 1 or v.ndim != 2:
        raise ValueError(f"p: shape {tuple(p.shape)}; certify takes one row, [S]")
    exact._require_size(size)
    if not 0 <= gap < 1:
        raise ValueError(f"gap: {gap} is outside 0 <= gap < 1")
    if not time_limit > 0:
        raise ValueError(f"time_limit: {time_limit} seconds; need more than 0")
    share = exact._as_floor(floor)
    _compile()
    began = time.perf_counter()
    root = exact._as_root(through, v.shape[-1])
    p, v = p.numpy(), v.numpy()
    size = min(size, len(p))
    everything = np.arange(len(p))
    gamma, noise = exact._pool_deviations(p, v, everything, root)
    least = exact.least_mass(p, size, share) if share else 0.0
    search = _Search(gamma, p, size, least, noise, gap, began, time_limit)
    try:
        search.run()
    except KeyboardInterrupt:
        pass
    members = search.members
    upper = float(np.linalg.norm(gamma[members].sum(0)) / p[members].sum())
    return Certificate(
        torch.from_numpy(members),
        upper,
        float(min(search.lower, upper)),
        search.proved,
        search.nodes,
        time.perf_counter() - began,
    )


@functools.cache
def _compile():
    """Compile the search before the first clock starts: that can take half a minute."""
    gamma, p = np.eye(3), np.full(3, 1 / 3)
    _Search(gamma, p, 2, 0.0, 0.0, 0.0, time.perf_counter(), np.inf).run()


class _Search:
    """One row's search: the best set so far, and what is proved about it."""

    def __init__(self, gamma, p, size, floor, noise, gap, began, time_limit):
        scale = max(np.sqrt((gamma * gamma).sum(1).max()), noise)
        self.gamma, self.p = np.ascontiguousarray(gamma / scale), p / scale
        self.size, self.floor, self.noise, self.gap = size, floor / scale, noise, gap
        self.began, self.time_limit = began, time_limit
        self.members = np.sort(np.argsort(-p, kind="stable")[:size])
        self.upper = self.error(self.members)
        self.lower, self.nodes, self.proved = 0.0, 0, False

    def error(self, members):
        return np.linalg.norm(self.gamma[members].sum(0)) / self.p[members].sum()

    def run(self):
        if self.size == len(self.p) or self.upper <= self.noise:
            self.lower = 0.0 if self.upper <= self.noise else self.upper
            self.proved = True
            return
        self.problem = self.restricted(np.arange(len(self.p)))
        self.descend()
        if self.attempt(1.0 - self.gap, TARGET_SHARE * self.time_limit):
            self.proved = True
            return
        for fraction in LADDER:
            if fraction >= 1.0 - self.gap:
                return
            if not self.attempt(fraction, self.time_limit):
                return

    def restricted(self, keys):
        """The problem on some of the keys."""
        from kvteach.rows import _search  # imports the compiler

        gamma = np.ascontiguousarray(self.gamma[keys])
        gram = (torch.from_numpy(gamma) @ torch.from_numpy(gamma).T).numpy()
        square = gram.diagonal().copy()
        return _search.Problem(gram, square, self.p[keys], gamma, self.size, self.floor)

    def descend(self):
        from kvteach.rows import _search

        members = self.members.copy()
        _search.swap_search(self.problem, members)
        self.accept(members)

    def accept(self, members):
        """Take a set if it is better, measured from the deviations."""
        error = self.error(members)
        if error < self.upper:
            self.upper, self.members = error, np.sort(members)

    def attempt(self, fraction, until):
        """Try to prove E >= fraction * upper before ``until``; True if proved."""
        from kvteach.rows import _search

        state = np.zeros(1, _search.STATE).view(np.recarray)[0]
        state.fraction, state.noise, state.patience = fraction, self.noise, PATIENCE
        members = self.members.copy()
        keys = _search.survivors(self.problem, state, members)
        self.accept(members)
        if len(keys) >= self.size:
            # The winner must stay in reach of the smaller problem's indices.
            keys = np.union1d(keys, self.members)
            problem = self.restricted(keys) if len(keys) < len(self.p) else self.problem
            if not self.finish(problem, keys, state, until):
                return False
        self.lower = max(self.lower, min(fraction, 1.0) * self.upper)
        return True

    def finish(self, problem, keys, state, until):
        """Branch and bound on the surviving keys; False when the time is up."""
        from kvteach.rows import _search

        levels, scratch = _search.allocate(len(keys), self.size)
        _search.start(problem, state, levels, np.searchsorted(keys, self.members))
        before = self.nodes
        while state.level >= 0 and time.perf_counter() - self.began < until:
            _search.run(problem, state, levels, scratch, SLICE)
            self.nodes = before + int(state.nodes)
            self.accept(keys[levels.winner])
        return state.level < 0
