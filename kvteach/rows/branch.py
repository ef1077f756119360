"""Branch and bound for the best subset, to be read: NumPy only.

`best_subset` solves the same problem with the same bounds, compiled. Here the
search fits on a page. It works on the deviations gamma [n, D] and weights p [n]
of one row (see `kvteach.rows.error.deviations`), n up to a few dozen.
"""

import numpy as np


def branch_and_bound(gamma, p, size, steps=12):
    """(members, error, nodes): the least ||sum gamma|| / p(A) with |A| = size.

    Exact to 1e-9, relatively. About ten nodes on typical pools, each ``steps``
    products with [n, D]; exponentially many at worst.
    """

    def error(members):
        return np.linalg.norm(gamma[members].sum(0)) / p[members].sum()

    best = list(np.argsort(-p, kind="stable")[:size])
    least, nodes = error(best), 0
    stack = [([], list(range(len(p))))]  # (included, undecided)
    while stack:
        included, free = stack.pop()
        r = size - len(included)
        if r > len(free):
            continue
        nodes += 1
        y = gamma[included + free[:r]].sum(0)
        z = np.zeros(len(p))  # the relaxed point y holds z_j of key j
        z[included + free[:r]] = 1
        for _ in range(steps):
            level = (1 - 1e-9) * least
            # The direction of y bounds every set below this node.
            cost = gamma @ (y / max(np.linalg.norm(y), 1e-300)) - level * p
            order = [free[k] for k in np.argsort(cost[free], kind="stable")[:r]]
            vertex = included + order
            if cost[vertex].sum() > 0:
                break  # all of them are worse than the best set
            if error(vertex) < level:
                best, least = vertex, error(vertex)
            # Walk towards that vertex as far as ||y|| - level p(y) falls.
            towards = gamma[vertex].sum(0) - y
            gain = least * (p[vertex].sum() - p @ z)
            t = _line_search(y, towards, gain)
            y, z = y + t * towards, (1 - t) * z
            z[vertex] += t
        else:
            if r == 0:
                continue
            # Decide the key whose rounding to 0 or 1 would move y furthest.
            move = np.minimum(z, 1 - z) * np.linalg.norm(gamma, axis=1) ** 2
            key = max(free, key=lambda j: move[j])
            rest = [j for j in free if j != key]
            stack.append((included, rest))
            stack.append((included + [key], rest))
    return sorted(int(j) for j in best), least, nodes


def _line_search(y, d, gain):
    """argmin over 0 <= t <= 1 of ||y + t d|| - t gain."""
    a, b = d @ d, y @ d
    if gain**2 >= a:
        return float(gain > 0)
    rest = max(0.0, a * (y @ y) - b * b)
    return float(np.clip((gain * np.sqrt(rest / (a - gain**2)) - b) / a, 0, 1))
