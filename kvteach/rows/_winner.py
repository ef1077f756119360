"""The best set so far: measuring, offering and improving it."""

import math

import numpy as np

from kvteach.rows._arrays import TIE
from kvteach.rows._jit import jit


@jit
def direct_error(pb, members):
    """||sum of gamma|| / mass, from the deviations themselves."""
    total, mass = 0.0, 0.0
    for d in range(pb.gamma.shape[1]):
        x = 0.0
        for t in range(pb.size):
            x += pb.gamma[members[t], d]
        total += x * x
    for t in range(pb.size):
        mass += pb.mass[members[t]]
    return math.sqrt(total) / mass if mass > 0.0 else np.inf


@jit
def offer(pb, st, lv, scratch, level, picked, r):
    """Take the set as the winner if it is better; note a tie with another set."""
    trial = scratch.trial
    trial[:level] = lv.path[:level]
    mass = 0.0
    for t in range(r):
        trial[level + t] = lv.keys[level, picked[t]]
    for t in range(pb.size):
        mass += pb.mass[trial[t]]
    if mass < pb.floor:
        return
    error = direct_error(pb, trial)
    if error > st.best * (1 + TIE) + st.noise:
        return
    if st.first:
        if error <= st.best:
            lv.winner[:] = trial
            st.level = -1
        return
    trial.sort()
    same = True
    for t in range(pb.size):
        same = same and trial[t] == lv.winner[t]
    if same:
        return
    if error >= st.best * (1 - TIE) - st.noise:
        st.tie = 1
        if st.fraction >= 1.0:
            st.fraction = 1.0 - TIE  # from now on ties close: there may be many
    else:
        st.tie = 0
    if error < st.best:
        st.best = error
        lv.winner[:] = trial


@jit
def swap_search(pb, members):
    """Best one-for-one swaps until none helps; members is changed in place.

    Cost O(s n) a round, on the Gram matrix. Rounding can make two nearly exact
    sets each look better than the other, so rounds are counted.
    """
    n, s = pb.mass.shape[0], pb.size
    inside = np.zeros(n, np.bool_)
    pull = np.zeros(n)
    square, mass = 0.0, 0.0
    for t in range(s):
        inside[members[t]] = True
        mass += pb.mass[members[t]]
        pull += pb.gram[members[t]]
    for t in range(s):
        square += pull[members[t]]
    best = max(square, 0.0) / mass**2 if mass > 0.0 else np.inf
    for _ in range(8 * s + 8):
        out, into, better = -1, -1, best * (1 - 1e-9)
        for t in range(s):
            i = members[t]
            row = pb.gram[i]
            less = square - 2 * pull[i] + row[i]
            left = mass - pb.mass[i]
            for j in range(n):
                q = less + 2 * (pull[j] - row[j]) + pb.square[j]
                m = left + pb.mass[j]
                if q < better * m * m and m >= pb.floor and not inside[j]:
                    better, out, into = q / (m * m), t, j
        if out < 0:
            return
        i = members[out]
        square += pb.gram[i, i] + pb.gram[into, into] + 2 * (
            pull[into] - pull[i] - pb.gram[i, into]
        )
        mass += pb.mass[into] - pb.mass[i]
        pull += pb.gram[into] - pb.gram[i]
        inside[i], inside[into] = False, True
        members[out] = into
        best = max(square, 0.0) / mass**2
