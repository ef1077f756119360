"""Branch and bound over the kept sets of one row, compiled.

Depth first: a node includes the key that its relaxed point holds most of, and
comes back to exclude it. Everything lives in arrays, so a search can be stopped
after some work and continued. ``fraction`` times the best error so far is the
level that open nodes must beat: 1 - gap proves optimality within the gap.
"""

from kvteach.rows import _node
from kvteach.rows._arrays import SLACK, STATE, TIE, Problem, allocate
from kvteach.rows._bound import bounded
from kvteach.rows._jit import jit
from kvteach.rows._price import total_of
from kvteach.rows._winner import direct_error, offer, swap_search

UNLIMITED = 1 << 62
ROOT_ROUNDS = 6


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
            _node.exclude(pb, lv, level, scratch)
        st.nodes += 1
        if settled(pb, st, lv, level, scratch):
            if st.level >= 0:
                st.level -= 1
        else:
            _node.include(pb, lv, level)
            st.level += 1


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
        _node.scan_one(pb, st, lv, level, scratch)
        return True
    closed, below = bounded(pb, st, lv, level, scratch)
    if closed or st.level < 0:
        return True
    margin = lv.slack[level] / lv.price[level, 1]
    rest = below - total_of(scratch.value, r) - margin
    sure, _ = _node.fix(pb, st, lv, level, scratch, below)
    if r == 2:
        _node.scan_two(pb, st, lv, level, scratch, rest)
        return True
    lv.forced[level] = sure >= 0 and not st.first
    if lv.forced[level]:
        lv.chosen[level] = sure
    elif st.first:
        lv.chosen[level] = 0
    else:
        lv.chosen[level] = _node.most_divided(pb, lv, level)
    return False


@jit
def best_set(pb, st, members, limit):
    """The best set, in place of feasible ``members``; False after ``limit`` work."""
    lv, scratch = allocate(pb.mass.shape[0], pb.size)
    swap_search(pb, members)
    start(pb, st, lv, members)
    run(pb, st, lv, scratch, limit)
    members[:] = lv.winner
    return st.level < 0


@jit
def smallest_tie(pb, st, members):
    """Among the sets as good as ``members``, the one of smallest indices, in place.

    Keys are taken in order, including before excluding: the first good set that
    the search meets is the smallest.
    """
    lv, scratch = allocate(pb.mass.shape[0], pb.size)
    start(pb, st, lv, members)
    st.first = 1
    st.fraction = 1.0
    st.best = max(st.best * (1 + TIE), st.noise)
    run(pb, st, lv, scratch, UNLIMITED)
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
            _node.fix(pb, st, lv, 0, scratch, below)
        if lv.count[0] > 0.9 * before:
            break
    return lv.keys[0, : lv.count[0]].copy()
