"""Branch and bound over the kept sets of one row, compiled.

Depth first: a node includes the key that its relaxed point holds most of, and
comes back to exclude it. Everything lives in arrays, so a search can be stopped
after some work and continued. ``fraction`` times the best error so far is the
level that open nodes must beat: 1 - gap proves optimality within the gap.
"""

import math

import numpy as np

from kvteach.rows import _bound
from kvteach.rows._bound import OPEN_AFTER, SLACK, STEPS, Levels, Problem, Scratch
from kvteach.rows._jit import jit

UNLIMITED = 1 << 62
ROOT_ROUNDS = 6
TIE = 1e-10
"""Errors that agree to this, relatively, count as equal."""

STATE = np.dtype(
    [
        ("best", "f8"),  # error of the winner
        ("fraction", "f8"),  # nodes close at fraction * best
        ("noise", "f8"),  # errors below this are zero
        ("tie", "i8"),  # another set is as good
        ("first", "i8"),  # stop at the first set with error <= best, in order
        ("level", "i8"),  # included keys at the current node; -1: finished
        ("nodes", "i8"),
        ("work", "i8"),
    ]
)


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
def bounded(pb, st, lv, level, scratch):
    """Frank-Wolfe at one node. Returns (closed, bound of the last direction).

    scratch.cost, least and value belong to that bound on return.
    """
    r, count = pb.size - level, lv.count[level]
    need = pb.floor - lv.taken[level, 1]
    point = lv.point[level]
    _bound.refresh(pb, lv, level, scratch)
    slack = lv.slack[level]
    below, open_ = -np.inf, False
    for step in range(STEPS):
        lam = st.fraction * st.best
        nu = math.sqrt(max(point[0], 0.0) + slack)
        extra, share = _bound.price_with_floor(pb, lv, level, lam, nu, scratch)
        st.work += count
        if extra < 0.0:
            return True, np.inf
        below = (
            point[1] / nu
            - lam * lv.taken[level, 1]
            + extra * need
            + _bound.total_of(scratch.value, r)
        )
        if below > slack / nu:
            return True, below
        if open_:
            break
        square = _bound.make_vertex(pb, lv, level, scratch, share)
        st.work += count * (r + 2)
        mass = scratch.sums[2]
        if not st.first and (share > 0.0 or square < (lam * mass) ** 2 + slack):
            offer(pb, st, lv, scratch, level, scratch.high, r)
        t = _bound.step_length(
            point[0], scratch.sums[1], square, lam * (mass - point[2])
        )
        if t < 1e-9:
            break
        _bound.step_towards(lv, level, scratch, r, share, square, t)
        # A relaxed point at or below the level: no direction can close the node.
        beyond = math.sqrt(max(point[0], 0.0)) <= lam * point[2]
        open_ = beyond and step >= OPEN_AFTER
    return False, below


@jit
def shift(pb, lv, level, source, target):
    """Hand the relaxed point's share of one active key to another."""
    z = lv.part[level, source]
    if z == 0.0:
        return
    keys, dots, base = lv.keys[level], lv.dots[level], lv.base[level]
    out, into = pb.gram[keys[source]], pb.gram[keys[target]]
    point = lv.point[level]
    point[0] += 2 * z * (dots[target] - dots[source]) + z * z * (
        out[keys[source]] + into[keys[target]] - 2 * out[keys[target]]
    )
    point[1] += z * (base[target] - base[source])
    point[2] += z * (pb.mass[keys[target]] - pb.mass[keys[source]])
    for k in range(lv.count[level]):
        dots[k] += z * (into[keys[k]] - out[keys[k]])
    lv.part[level, target] += z
    lv.part[level, source] = 0.0


@jit
def cheapest_other(lv, level, scratch, source):
    """The cheapest active key that has room for the share of ``source``."""
    z = lv.part[level, source]
    best, at = np.inf, -1
    for k in range(lv.count[level]):
        room = k != source and lv.part[level, k] + z <= 1.0 + 1e-9
        if room and scratch.cost[k] < best:
            best, at = scratch.cost[k], k
    if at < 0:
        at = 0 if source != 0 else 1
    return at


@jit
def remove(lv, level, scratch, doomed):
    """Drop the active keys at positions where ``doomed`` is set, keeping order."""
    to = 0
    for k in range(lv.count[level]):
        if not doomed[k]:
            lv.keys[level, to] = lv.keys[level, k]
            lv.dots[level, to] = lv.dots[level, k]
            lv.base[level, to] = lv.base[level, k]
            lv.part[level, to] = lv.part[level, k]
            scratch.cost[to] = scratch.cost[k]
            to += 1
    lv.count[level] = to


@jit
def exclude(pb, lv, level, scratch):
    """Drop the chosen key of the level for good."""
    source, count = lv.chosen[level], lv.count[level]
    if count > 1:
        lam = lv.price[level, 0]
        nu = lv.price[level, 1]
        for k in range(count):
            scratch.cost[k] = lv.dots[level, k] / nu - lam * pb.mass[lv.keys[level, k]]
        shift(pb, lv, level, source, cheapest_other(lv, level, scratch, source))
    scratch.doomed[:count] = False
    scratch.doomed[source] = True
    remove(lv, level, scratch, scratch.doomed)
    lv.chosen[level] = -1


@jit
def include(pb, lv, level):
    """Enter the child that holds the chosen key, scaling the rest of the point."""
    at, count, child = lv.chosen[level], lv.count[level], level + 1
    key = lv.keys[level, at]
    row, r = pb.gram[key], pb.size - level
    z = lv.part[level, at]
    scale = (r - 1.0) / max(r - z, r - 1.0)
    dots, base, part = lv.dots[level], lv.base[level], lv.part[level]
    to = 0
    for k in range(count):
        if k == at:
            continue
        g = row[lv.keys[level, k]]
        lv.keys[child, to] = lv.keys[level, k]
        lv.base[child, to] = base[k] + g
        lv.dots[child, to] = base[k] + g + scale * (dots[k] - base[k] - z * g)
        lv.part[child, to] = scale * part[k]
        to += 1
    ii, mi = lv.taken[level, 0], lv.taken[level, 1]
    yy, yi, py = lv.point[level, 0], lv.point[level, 1], lv.point[level, 2]
    both = ii + 2 * base[at] + row[key]
    rest = yy + ii + z * z * row[key] - 2 * yi - 2 * z * dots[at] + 2 * z * base[at]
    cross = yi + dots[at] - ii - base[at] - z * (base[at] + row[key])
    mass = mi + pb.mass[key]
    lv.taken[child, 0], lv.taken[child, 1] = both, mass
    lv.point[child, 0] = both + 2 * scale * cross + scale * scale * rest
    lv.point[child, 1] = both + scale * cross
    lv.point[child, 2] = mass + scale * (py - mi - z * pb.mass[key])
    lv.slack[child] = lv.slack[level]
    lv.longest[child] = max(lv.longest[level], row[key])
    lv.path[level] = key
    lv.count[child] = to
    lv.chosen[child] = -1


@jit
def scan_one(pb, st, lv, level, scratch):
    """The last key: try each active one."""
    longest = lv.longest[level]
    for k in range(lv.count[level]):
        key = lv.keys[level, k]
        square = lv.taken[level, 0] + 2 * lv.base[level, k] + pb.square[key]
        lam_mass = st.fraction * st.best * (lv.taken[level, 1] + pb.mass[key])
        slack = SLACK * (longest + pb.square[key])
        if square < lam_mass * lam_mass + slack:
            scratch.low[0] = k
            offer(pb, st, lv, scratch, level, scratch.low, 1)
            if st.level < 0:
                return
    st.work += lv.count[level]


@jit
def scan_two(pb, st, lv, level, scratch):
    """The last two keys: try each active pair, in order."""
    count, keys, base = lv.count[level], lv.keys[level], lv.base[level]
    ii, mi = lv.taken[level, 0], lv.taken[level, 1]
    longest, single = lv.longest[level], scratch.vertex
    for k in range(count):
        single[k] = 2 * base[k] + pb.square[keys[k]]
    for i in range(count):
        row = pb.gram[keys[i]]
        start, mass = ii + single[i], mi + pb.mass[keys[i]]
        start -= SLACK * (longest + pb.square[keys[i]])
        for k in range(i + 1, count):
            lam_mass = st.fraction * st.best * (mass + pb.mass[keys[k]])
            square = start + single[k] + 2 * row[keys[k]]
            if square < lam_mass * lam_mass + SLACK * pb.square[keys[k]]:
                scratch.low[0], scratch.low[1] = i, k
                offer(pb, st, lv, scratch, level, scratch.low, 2)
                if st.level < 0:
                    return
    st.work += count * count // 2


@jit
def fix(pb, st, lv, level, scratch, below):
    """Drop keys that no good set below the node holds; find one that all hold.

    Swapping an unpicked key in raises the bound by its cost minus the largest
    picked cost, and the other way round. Returns (key position or -1, dropped).
    """
    r, count = pb.size - level, lv.count[level]
    slack = lv.slack[level]
    margin = slack / math.sqrt(max(lv.point[level, 0], 0.0) + slack)
    enters = scratch.value[r - 1] - below + margin
    leaves = scratch.value[r] + below - margin
    doomed, dropped = scratch.doomed, 0
    for k in range(count):
        doomed[k] = scratch.cost[k] > enters
        dropped += doomed[k]
    sure = -1
    for t in range(r):
        doomed[scratch.least[t]] = False
        if scratch.value[t] < leaves:
            sure = scratch.least[t]
    if dropped:
        target = scratch.least[r - 1]
        before = sure
        for k in range(count):
            if doomed[k]:
                shift(pb, lv, level, k, target)
                before_k = k < before
                sure -= before_k
        remove(lv, level, scratch, doomed)
    return sure, dropped


@jit
def most_divided(pb, lv, level):
    """The key to branch on: long, and held in part by the relaxed point.

    Deciding it moves the point furthest: either side costs about its length.
    Keys so long that their rounding drowns the point are decided first.
    """
    best, at = -1.0, 0
    drowned = lv.slack[level] > 1e-8 * lv.point[level, 0]
    for k in range(lv.count[level]):
        z, key = lv.part[level, k], lv.keys[level, k]
        score = pb.square[key] * (1.0 if drowned else min(z, 1.0 - z))
        if score > best:
            best, at = score, k
    return at


@jit
def settled(pb, st, lv, level, scratch):
    """Close the node, or choose the key that it branches on."""
    r = pb.size - level
    if lv.count[level] < r:
        return True
    if r == 0:
        offer(pb, st, lv, scratch, level, scratch.low, 0)
        return True
    if r == 1:
        scan_one(pb, st, lv, level, scratch)
        return True
    closed, below = bounded(pb, st, lv, level, scratch)
    if closed or st.level < 0:
        return True
    sure, _ = fix(pb, st, lv, level, scratch, below)
    if r == 2:
        scan_two(pb, st, lv, level, scratch)
        return True
    lv.price[level, 0] = st.fraction * st.best
    lv.price[level, 1] = math.sqrt(max(lv.point[level, 0], 0.0) + lv.slack[level])
    lv.forced[level] = sure >= 0 and not st.first
    if lv.forced[level]:
        lv.chosen[level] = sure
    elif st.first:
        lv.chosen[level] = 0
    else:
        lv.chosen[level] = most_divided(pb, lv, level)
    return False


@jit
def run(pb, st, lv, scratch, limit):
    """Search on until the tree is empty (st.level < 0) or ``limit`` work is done."""
    stop = st.work + limit
    while st.level >= 0 and st.work < stop:
        level = st.level
        if st.best <= st.noise and not st.first:
            st.tie = 1
            st.level = -1
            return
        if lv.chosen[level] >= 0:
            if lv.forced[level]:
                st.level -= 1
                continue
            exclude(pb, lv, level, scratch)
        st.nodes += 1
        if settled(pb, st, lv, level, scratch):
            if st.level >= 0:
                st.level -= 1
        else:
            include(pb, lv, level)
            st.level += 1


@jit
def swap_search(pb, members):
    """Best one-for-one swaps until none helps; members is changed in place.

    Cost O(s n) a round, on the Gram matrix.
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
    while True:
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


@jit
def start(pb, st, lv, members):
    """Put the root on the stack, with the given set as winner and relaxed point."""
    n = pb.mass.shape[0]
    st.level = 0
    lv.chosen[0] = -1
    lv.count[0] = n
    lv.taken[0] = 0.0
    lv.longest[0] = 0.0
    lv.slack[0] = SLACK * pb.square.max()
    lv.point[0] = 0.0
    lv.base[0] = 0.0
    lv.dots[0] = 0.0
    lv.part[0] = 0.0
    for k in range(n):
        lv.keys[0, k] = k
    for t in range(pb.size):
        lv.dots[0] += pb.gram[members[t]]
        lv.part[0, members[t]] = 1.0
        lv.point[0, 2] += pb.mass[members[t]]
    for t in range(pb.size):
        lv.point[0, 0] += lv.dots[0, members[t]]
    lv.winner[:] = members
    lv.winner.sort()
    st.best = direct_error(pb, members)


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


@jit
def best_set(pb, st, members):
    """The best set of a small pool, in place; ties by smallest index set.

    members: any feasible set. The second search runs only where another set was
    as good: it takes keys in order, so the first set that it meets is smallest.
    """
    lv, scratch = allocate(pb.mass.shape[0], pb.size)
    swap_search(pb, members)
    start(pb, st, lv, members)
    run(pb, st, lv, scratch, UNLIMITED)
    least = st.best
    if st.tie:
        members[:] = lv.winner
        start(pb, st, lv, members)
        st.first = 1
        st.fraction = 1.0
        st.best = max(least * (1 + TIE), st.noise)
        run(pb, st, lv, scratch, UNLIMITED)
        st.best = least
    members[:] = lv.winner


@jit
def survivors(pb, st, members):
    """Keys that a set better than the level can hold, after bounding the root.

    members: the best set known; it is replaced when the relaxation meets a
    better one. No survivors: the level is proved.
    """
    lv, scratch = allocate(pb.mass.shape[0], pb.size)
    start(pb, st, lv, members)
    for _ in range(ROOT_ROUNDS):
        before = lv.count[0]
        closed, below = bounded(pb, st, lv, 0, scratch)
        members[:] = lv.winner
        if closed:
            return lv.keys[0, :0].copy()
        if pb.size > 1:
            fix(pb, st, lv, 0, scratch, below)
        if lv.count[0] > 0.9 * before:
            break
    return lv.keys[0, : lv.count[0]].copy()
