"""The cheapest sets under one direction, with and without a floor on the mass."""

import numpy as np

from kvteach.rows._jit import jit

FLOOR_STEPS = 8


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
def total_of(value, r):
    total = 0.0
    for t in range(r):
        total += value[t]
    return total


@jit
def picked_mass(pb, lv, level, picked, r):
    total = 0.0
    for t in range(r):
        total += pb.mass[lv.keys[level, picked[t]]]
    return total


@jit
def price(pb, lv, level, lam, nu, scratch):
    """Fill cost = <w, u_j> - lam p_j of the active keys; take the r + 1 smallest."""
    count, keys, dots = lv.count[level], lv.keys[level], lv.dots[level]
    cost, inverse = scratch.cost, 1.0 / nu
    for k in range(count):
        cost[k] = dots[k] * inverse - lam * pb.mass[keys[k]]
    smallest(cost, count, pb.size - level + 1, scratch.least, scratch.value)


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
