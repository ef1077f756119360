"""A lower bound for every set below one node of the search tree.

A node has included some keys I (sum U_I of their deviations, mass m_I) and
still needs r of its active keys. Every unit vector w bounds all of them,

    ||U_I + sum_R u_j|| - lam (m_I + p(R))
        >= <w, U_I> - lam m_I + sum of the r smallest (<w, u_j> - lam p_j),

and if the right side is positive no set below the node has an error of lam or
less. Frank-Wolfe on the convex hull of the sets finds a good w: the direction
of its current point y. Only inner products with y are needed, so it runs on
the Gram matrix: ``dots`` holds <y, u_j> of the active keys. A floor on the mass
enters with a multiplier, which is one more weight on p.
"""

import math

import numpy as np

from kvteach.rows._arrays import SLACK
from kvteach.rows._jit import jit
from kvteach.rows._price import price_with_floor, smallest, total_of
from kvteach.rows._winner import offer



@jit
def bounded(pb, st, lv, level, scratch):
    """Frank-Wolfe at one node. Returns (closed, bound of the last direction).

    scratch.cost, least and value belong to that bound on return.
    """
    r, count = pb.size - level, lv.count[level]
    need = pb.floor - lv.taken[level, 1]
    point = lv.point[level]
    refresh(pb, lv, level, scratch)
    slack = lv.slack[level]
    below, open_ = -np.inf, False
    for step in range(4 * st.patience):
        lam = st.fraction * st.best
        nu = math.sqrt(max(point[0], 0.0) + slack)
        lv.price[level, 0], lv.price[level, 1] = lam, nu
        extra, share = price_with_floor(pb, lv, level, lam, nu, scratch)
        st.work += count
        if extra < 0.0:
            return True, np.inf
        below = (
            point[1] / nu
            - lam * lv.taken[level, 1]
            + extra * need
            + total_of(scratch.value, r)
        )
        if below > slack / nu:
            return True, below
        if open_:
            break
        square = make_vertex(pb, lv, level, scratch, share)
        st.work += count * (r + 2)
        mass = scratch.sums[2]
        if not st.first and (share > 0.0 or square < (lam * mass) ** 2 + slack):
            offer(pb, st, lv, scratch, level, scratch.high, r)
        t = step_length(
            point[0], scratch.sums[1], square, lam * (mass - point[2])
        )
        if t < 1e-9:
            break
        step_towards(lv, level, scratch, r, share, square, t)
        # A relaxed point at or below the level: no direction can close the node.
        beyond = math.sqrt(max(point[0], 0.0)) <= lam * point[2]
        open_ = beyond and step >= st.patience
    return False, below


@jit
def add_set(pb, lv, level, picked, r, weight, vertex):
    """vertex_k += weight * sum over the picked keys of <u, u_k>."""
    count, keys = lv.count[level], lv.keys[level]
    for t in range(r):
        row = pb.gram[keys[picked[t]]]
        for k in range(count):
            vertex[k] += weight * row[keys[k]]


@jit
def weigh(pb, lv, level, picked, r, weight, sums):
    """Add what the picked keys give to <v, U_I>, <y, v> and p(v) of a vertex v."""
    for t in range(r):
        k = picked[t]
        sums[0] += weight * lv.base[level, k]
        sums[1] += weight * lv.dots[level, k]
        sums[2] += weight * pb.mass[lv.keys[level, k]]


@jit
def make_vertex(pb, lv, level, scratch, share):
    """Fill scratch.vertex and scratch.sums for (1 - share) high + share low.

    Returns ||v||^2; sums become <v, U_I>, <y, v>, p(v).
    """
    r, count = pb.size - level, lv.count[level]
    sums = scratch.sums
    sums[0] = lv.taken[level, 0]
    sums[1] = lv.point[level, 1]
    sums[2] = lv.taken[level, 1]
    scratch.vertex[:count] = lv.base[level, :count]
    add_set(pb, lv, level, scratch.high, r, 1.0 - share, scratch.vertex)
    weigh(pb, lv, level, scratch.high, r, 1.0 - share, sums)
    if share > 0.0:
        add_set(pb, lv, level, scratch.low, r, share, scratch.vertex)
        weigh(pb, lv, level, scratch.low, r, share, sums)
    square = sums[0]
    for t in range(r):
        square += (1.0 - share) * scratch.vertex[scratch.high[t]]
        if share > 0.0:
            square += share * scratch.vertex[scratch.low[t]]
    return square


@jit
def step_length(yy, yv, vv, slope):
    """argmin over t in [0, 1] of ||(1-t) y + t v|| - t slope, in closed form."""
    a, b = yy - 2.0 * yv + vv, yv - yy
    if a <= 1e-300:
        return 1.0 if slope > 0 else 0.0
    rest = max(0.0, a * yy - b * b)
    if slope * slope >= a:
        return 1.0 if slope > 0 else 0.0
    t = (slope * math.sqrt(rest / (a - slope * slope)) - b) / a
    return min(1.0, max(0.0, t))


@jit
def move(lv, level, scratch, picked, r, weight):
    """part += weight on the picked keys."""
    for t in range(r):
        lv.part[level, picked[t]] += weight


@jit
def step_towards(lv, level, scratch, r, share, square, t):
    """Move the point y by t towards the vertex."""
    count, point, sums = lv.count[level], lv.point[level], scratch.sums
    dots, part, vertex = lv.dots[level], lv.part[level], scratch.vertex
    for k in range(count):
        dots[k] += t * (vertex[k] - dots[k])
        part[k] *= 1.0 - t
    move(lv, level, scratch, scratch.high, r, t * (1.0 - share))
    if share > 0.0:
        move(lv, level, scratch, scratch.low, r, t * share)
    point[0] = (1 - t) ** 2 * point[0] + 2 * t * (1 - t) * sums[1] + t * t * square
    point[1] += t * (sums[0] - point[1])
    point[2] += t * (sums[2] - point[2])


@jit
def refresh(pb, lv, level, scratch):
    """Slack on the scale of the keys left; a new point if the old one is coarser.

    Returns the slack that freshly computed products need.
    """
    r, count, keys = pb.size - level, lv.count[level], lv.keys[level]
    longest = lv.longest[level]
    for k in range(count):
        longest = max(longest, pb.square[keys[k]])
    fresh = SLACK * longest
    if lv.slack[level] <= 4 * fresh or count < r:
        return fresh
    for k in range(count):
        scratch.cost[k] = -pb.mass[keys[k]]
    smallest(scratch.cost, count, r, scratch.least, scratch.value)
    scratch.high[:r] = scratch.least[:r]
    square = make_vertex(pb, lv, level, scratch, 0.0)
    lv.dots[level, :count] = scratch.vertex[:count]
    lv.part[level, :count] = 0.0
    move(lv, level, scratch, scratch.high, r, 1.0)
    lv.point[level, 0] = square
    lv.point[level, 1] = scratch.sums[0]
    lv.point[level, 2] = scratch.sums[2]
    lv.slack[level] = fresh
    return fresh
