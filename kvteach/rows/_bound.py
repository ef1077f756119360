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
from typing import NamedTuple

import numpy as np

from kvteach.rows._jit import jit

SLACK = 1e-13
"""Room for rounding in inner products, relative to the longest key squared.

The Gram form adds up about a hundred products and updates them along a path:
errors stay near 1e-14. A node closes only beyond this slack, so rounding can
cost time but no set. Light keys are a million times shorter than heavy ones:
once the heavy ones are excluded, `refresh` starts again on the small scale.
"""

STEPS = 24
OPEN_AFTER = 2  # steps, once the relaxed point shows that the node stays open
FLOOR_STEPS = 24
OPEN_AFTER = 2  # steps, once the relaxed point shows that the node stays open


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
def smallest(cost, count, want, least, value):
    """Positions and values of the ``want`` smallest costs, ascending; then inf."""
    filled = 0
    for k in range(count):
        x = cost[k]
        if filled < want:
            t = filled
            filled += 1
        elif x < value[want - 1]:
            t = want - 1
        else:
            continue
        while t > 0 and value[t - 1] > x:
            value[t] = value[t - 1]
            least[t] = least[t - 1]
            t -= 1
        value[t] = x
        least[t] = k
    for t in range(filled, want):
        value[t] = np.inf


@jit
def price(pb, lv, level, lam, nu, scratch):
    """Fill cost = <w, u_j> - lam p_j of the active keys; take the r + 1 smallest."""
    count, keys, dots = lv.count[level], lv.keys[level], lv.dots[level]
    cost, inverse = scratch.cost, 1.0 / nu
    for k in range(count):
        cost[k] = dots[k] * inverse - lam * pb.mass[keys[k]]
    smallest(cost, count, pb.size - level + 1, scratch.least, scratch.value)


@jit
def picked_mass(pb, lv, level, picked, r):
    total = 0.0
    for t in range(r):
        total += pb.mass[lv.keys[level, picked[t]]]
    return total


@jit
def total_of(value, r):
    total = 0.0
    for t in range(r):
        total += value[t]
    return total


@jit
def price_with_floor(pb, lv, level, lam, nu, scratch):
    """The best multiplier of p(A) >= floor: returns (it, share of the low set).

    The multiplier is -1 where no set below the node reaches the floor.

    The bound is concave and piecewise linear in the multiplier. Two sets, one
    below the floor and one above, are two of its lines; their crossing is the
    next multiplier, until no set lies below the crossing. The relaxed minimiser
    mixes the two sets so that the mass is the floor. Share 0: the high set alone.
    """
    r = pb.size - level
    need = pb.floor - lv.taken[level, 1]
    price(pb, lv, level, lam, nu, scratch)
    mass = picked_mass(pb, lv, level, scratch.least, r)
    scratch.high[:r] = scratch.least[:r]
    if mass >= need:
        return 0.0, 0.0
    scratch.low[:r] = scratch.least[:r]
    low_mass, low_cost = mass, total_of(scratch.value, r)
    count, keys, dots = lv.count[level], lv.keys[level], lv.dots[level]
    for k in range(count):
        scratch.cost[k] = -pb.mass[keys[k]]
    smallest(scratch.cost, count, r, scratch.least, scratch.value)
    scratch.high[:r] = scratch.least[:r]
    high_mass = -total_of(scratch.value, r)
    if high_mass < need:
        return -1.0, 0.0
    high_cost = -lam * high_mass
    for t in range(r):
        high_cost += dots[scratch.high[t]] / nu
    extra = 0.0
    for _ in range(FLOOR_STEPS):
        extra = max(0.0, (high_cost - low_cost) / (high_mass - low_mass))
        price(pb, lv, level, lam + extra, nu, scratch)
        mass = picked_mass(pb, lv, level, scratch.least, r)
        cost = total_of(scratch.value, r) + extra * mass
        if cost - extra * mass >= low_cost - extra * low_mass - 1e-13:
            break
        if mass < need:
            scratch.low[:r] = scratch.least[:r]
            low_mass, low_cost = mass, cost
        else:
            scratch.high[:r] = scratch.least[:r]
            high_mass, high_cost = mass, cost
    return extra, min(1.0, max(0.0, (high_mass - need) / (high_mass - low_mass)))


@jit
def add_set(pb, lv, level, picked, r, weight, vertex):
    """vertex_k += weight * sum over the picked keys of <u, u_k>."""
    count, keys = lv.count[level], lv.keys[level]
    for t in range(r):
        row = pb.gram[keys[picked[t]]]
        for k in range(count):
            vertex[k] += weight * row[keys[k]]


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
