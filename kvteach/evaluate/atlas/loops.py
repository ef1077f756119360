"""Two searches of `kvteach.rows.select`, compiled to run over many rows.

Balancing and the Frank-Wolfe walk take many small steps, and each depends on the
one before: as array operations they spend their time between steps.
"""

import math

import numpy as np

from kvteach.rows._jit import jit


@jit
def balance(gamma, gram, weights, size):
    """Best one-for-one swaps until none helps, from the first ``size`` keys.

    gamma: [B, n, D], gram: [B, n, n] and weights: [B, n] of each row's pool, the
    start set first. Returns (kept places in the pool [B, size], error [B], swaps
    [B]). Cost per round: size (n - size) + n D per row.
    """
    rows, n, width = gamma.shape
    kept = np.empty((rows, size), np.int64)
    errors, swaps = np.empty(rows), np.zeros(rows, np.int64)
    place, pull, trial = np.empty(n, np.int64), np.empty(n), np.empty(width)
    for b in range(rows):
        place[:] = np.arange(n)
        total, mass = np.zeros(width), 0.0
        for t in range(size):
            total += gamma[b, t]
            mass += weights[b, t]
        error = math.sqrt((total * total).sum()) / mass
        while True:
            for j in range(n):
                pull[j] = 2 * (gamma[b, j] * total).sum()
            out, into = best_swap(
                gram[b], weights[b], place, pull, size, error * mass, mass
            )
            i, j = place[out], place[into]
            trial[:] = total - gamma[b, i] + gamma[b, j]
            new_mass = mass - weights[b, i] + weights[b, j]
            new_error = math.sqrt((trial * trial).sum()) / new_mass
            # Measured directly, or rounding could make two swaps chase each other.
            if not new_error < error * (1 - 1e-12):
                break
            place[out], place[into] = j, i
            total[:] = trial
            mass, error = new_mass, new_error
            swaps[b] += 1
        kept[b], errors[b] = place[:size], error
    return kept, errors, swaps


@jit
def best_swap(gram, weights, place, pull, size, length, mass):
    """Places (out, into) of the swap with the least error."""
    best, best_out, best_into = np.inf, 0, size
    for out in range(size):
        i = place[out]
        start, left = length * length + gram[i, i] - pull[i], mass - weights[i]
        for into in range(size, len(place)):
            j = place[into]
            square = start + gram[j, j] + pull[j] - 2 * gram[i, j]
            new_mass = left + weights[j]
            if square < best * new_mass * new_mass:
                best = max(square, 0.0) / (new_mass * new_mass)
                best_out, best_into = out, into
    return best_out, best_into


@jit
def free_supports(v, mu, visible, sizes, rounds):
    """Frank-Wolfe towards mu over the values v [S, D], for rows mu [n, D].

    See `kvteach.rows.select.free_support`. The walk does not depend on the budget
    until it stops: budget s stops where the next vertex would be the (s + 1)-th,
    so one walk answers all ``sizes``, ascending. visible: [n, S].

    Returns (supports [len(sizes), n, S], free errors [len(sizes), n]). Cost per
    row: S D for each new vertex, S for each round.
    """
    rows, keys = visible.shape
    width, largest = v.shape[1], sizes[-1]
    supports = np.zeros((len(sizes), rows, keys), np.bool_)
    errors = np.empty((len(sizes), rows))
    held, slot = np.empty(largest, np.int64), np.full(keys, -1)
    products, dots = np.empty((largest, keys)), np.empty(keys)
    x = np.empty(width)  # the walker, seen from mu
    for n in range(rows):
        vertex, square = 0, np.inf
        for j in range(keys):
            distance = ((v[j] - mu[n]) ** 2).sum()
            if visible[n, j] and distance < square:
                vertex, square = j, distance
        count, waiting = 0, 0
        x[:], dots[:] = 0.0, 0.0
        close = 1e-14 * (1 + math.sqrt((mu[n] * mu[n]).sum()))
        for round_ in range(rounds + 1):
            if round_ > 0:
                gain, vertex = -np.inf, 0
                for j in range(keys):
                    if visible[n, j] and -dots[j] > gain:
                        gain, vertex = -dots[j], j
                done = gain + (x * x).sum() <= close or round_ == rounds
                while waiting < len(sizes) and (
                    done or (slot[vertex] < 0 and count == sizes[waiting])
                ):
                    errors[waiting, n] = math.sqrt((x * x).sum())
                    for t in range(count):
                        supports[waiting, n, held[t]] = True
                    waiting += 1
                if waiting == len(sizes):
                    break
            towards = v[vertex] - mu[n]
            if slot[vertex] < 0:
                products[count] = np.dot(v, towards) - (mu[n] * towards).sum()
                held[count], slot[vertex] = vertex, count
                count += 1
            step = towards - x
            length = max((step * step).sum(), 1e-300)
            fraction = min(1.0, max(0.0, -(x * step).sum() / length))
            if round_ == 0:
                fraction = 1.0
            if fraction == 1.0:  # all weight to one vertex: the others leave
                products[0] = products[slot[vertex]]
                for t in range(count):
                    slot[held[t]] = -1
                held[0], slot[vertex], count = vertex, 0, 1
            x += fraction * step
            dots[:] = (1 - fraction) * dots + fraction * products[slot[vertex]]
        for t in range(count):
            slot[held[t]] = -1
    return supports, errors
