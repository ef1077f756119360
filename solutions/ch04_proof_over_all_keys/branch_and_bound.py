"""Branch and bound: the best set, proved, with most sets never looked at."""

import math

import numpy as np
import torch


def branch_and_bound(p, v, size):
    """Return the kept set with the least forced error, its error and the nodes.

    A node has some keys included and some excluded. If a bound shows that no set
    below it has an error below the best one found so far, it is closed; if not,
    one of its free keys is chosen, and the node splits into two: this key
    included, and this key excluded. The root has no key included or excluded.

    p: [S] float64, positive, summing to 1; v: [S, D] float64
    size: int, 1 <= size <= S

    Returns (indices, error, nodes): a tuple of ints in increasing order, a float
    and an int. nodes counts the nodes for which a bound or an error was
    computed, the root included, so trying every set would make it C(S, size) at
    least; on the rows of the checks it must stay below a tenth of that. Of
    several best sets any will do, and an error that is best up to 1e-9 of
    itself. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    gamma, p = (p[:, None] * (v - p @ v)).numpy(), p.numpy()
    # A good start closes more nodes than a good bound, and most rows are near
    # their top-mass set. Every set that a bound is made of is offered as well.
    best, best_error = None, math.inf

    def offer(keys):
        nonlocal best, best_error
        error = np.linalg.norm(gamma[keys].sum(0)) / p[keys].sum()
        if error < best_error:
            best, best_error = sorted(keys), error

    def step_length(y, way, slope):  # see the exercise frank_wolfe_step
        b, c = y @ way, way @ way
        if c <= slope * slope:
            return float(slope > 0)
        h = max(0.0, (y @ y) * c - b * b)
        return min(1.0, max(0.0, (slope * math.sqrt(h / (c - slope**2)) - b) / c))

    def relax(included, free, w):
        """(the node stays open, share of each free key in the mixture, w)."""
        choices = size - len(included)
        start, start_mass = gamma[included].sum(0), p[included].sum()
        y = None
        for _ in range(20):
            costs = gamma[free] @ w - best_error * p[free]
            chosen = np.argpartition(costs, choices - 1)[:choices]
            bound = start @ w - best_error * start_mass + costs[chosen].sum()
            # 0 up to rounding closes as well: what it hides would be better
            # than the best set by rounding only.
            if bound >= -1e-12 * best_error:
                return False, None, w
            picked = np.zeros(len(free))
            picked[chosen] = 1.0
            target = start + picked @ gamma[free]
            target_mass = start_mass + picked @ p[free]
            offer(included + [free[i] for i in chosen])
            if y is None:
                y, mass, held = target, target_mass, picked
            way, more = target - y, target_mass - mass
            t = step_length(y, way, best_error * more)
            y, mass, held = y + t * way, mass + t * more, held + t * (picked - held)
            # For every w the bound is at most the height of the mixture: once
            # that is clearly below 0, no direction can close the node.
            if np.linalg.norm(y) < best_error * mass * 0.99:
                break
            w = y / np.linalg.norm(y)
        return True, held, w

    offer(np.argsort(-p, kind="stable")[:size].tolist())
    # Depth first: the newest node is next. What is in neither list is excluded;
    # w is the last direction above, a good first one here.
    nodes = 0
    open_nodes = [([], list(range(len(p))), np.zeros(gamma.shape[1]))]
    while open_nodes:
        included, free, w = open_nodes.pop()
        choices = size - len(included)
        if choices > len(free):
            continue
        nodes += 1
        if choices in (0, len(free)):
            offer(included + free[:choices])
            continue
        stays_open, held, w = relax(included, free, w)
        if not stays_open:
            continue
        # Branch on the key that the mixture holds most of: excluding it changes
        # the bound most. The child that includes it comes first.
        key = free[int(held.argmax())]
        rest = [j for j in free if j != key]
        open_nodes.append((included, rest, w))
        open_nodes.append((included + [key], rest, w))
    return tuple(int(j) for j in best), float(best_error), nodes
    # END SOLUTION
