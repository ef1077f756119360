"""Going down and up the tree: include, exclude, drop and enumerate keys."""

import numpy as np

from kvteach.rows._arrays import SLACK
from kvteach.rows._jit import jit
from kvteach.rows._winner import offer


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
def fix(pb, st, lv, level, scratch, below):
    """Drop keys that no good set below the node holds; find one that all hold.

    Swapping an unpicked key in raises the bound by its cost minus the largest
    picked cost, and the other way round. Returns (key position or -1, dropped).
    """
    r, count = pb.size - level, lv.count[level]
    margin = lv.slack[level] / lv.price[level, 1]
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
def scan_two(pb, st, lv, level, scratch, rest):
    """The last two keys: try each active pair that the last bound leaves open.

    A pair is closed if ``rest`` plus its two costs is positive; cheap pairs come
    first, so one closed pair closes all that follow. ``first`` wants them in order.
    """
    count, keys, base = lv.count[level], lv.keys[level], lv.base[level]
    ii, mi = lv.taken[level, 0], lv.taken[level, 1]
    longest, single, cost = lv.longest[level], scratch.vertex, scratch.cost
    for k in range(count):
        single[k] = 2 * base[k] + pb.square[keys[k]]
    order = np.arange(count) if st.first else np.argsort(cost[:count])
    for a in range(count - 1):
        i = order[a]
        row = pb.gram[keys[i]]
        start, mass = ii + single[i], mi + pb.mass[keys[i]]
        start -= SLACK * (longest + pb.square[keys[i]])
        if not st.first and rest + cost[i] + cost[order[a + 1]] > 0.0:
            break
        for b in range(a + 1, count):
            k = order[b]
            if not st.first and rest + cost[i] + cost[k] > 0.0:
                break
            st.work += 1
            lam_mass = st.fraction * st.best * (mass + pb.mass[keys[k]])
            square = start + single[k] + 2 * row[keys[k]]
            if square < lam_mass * lam_mass + SLACK * pb.square[keys[k]]:
                scratch.low[0], scratch.low[1] = i, k
                offer(pb, st, lv, scratch, level, scratch.low, 2)
                if st.level < 0:
                    return
