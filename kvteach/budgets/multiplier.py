"""Divide a budget among heads whose cost falls with what they get.

    minimise  sum_h c_h(b_h)   subject to   sum_h b_h = total

One price per key turns the problem into one small choice for each head (Everett 1963).
A price that meets the total need not exist where a curve is not convex, so a repair
follows, and a search of the few allocations that can still be better.
"""

import numpy as np

_STEPS = 64  # halvings of the price: as many as a float64 can tell apart
_NOISE = 1e-12  # relative; sums of a few hundred float64 costs differ by less


def divide(cost_hb, total, refine=True):
    """How many keys each head gets, [H] int64, summing to ``total`` exactly.

    cost_hb: [H, B + 1] float64, the cost of a head with b = 0 .. B keys, not increasing
    in b; +inf behind the last count that a head can have. The price is bisected until
    cheapest choices b_h = argmin_b c_h(b) + price b are next to the total, from below
    and from above. Either is repaired by single keys: the best marginal change first,
    of equal ones the earlier head. The cheaper of the two is taken.

    refine: True makes the result optimal (see `best_near`); False leaves the repair.
    Cost O(64 H B), and for the refinement H small vector operations a candidate.
    Raises ValueError for a total that the heads cannot hold.
    """
    room_h = np.isfinite(cost_hb).sum(1) - 1
    if not 0 <= total <= room_h.sum():
        raise ValueError(f"total: {total} keys; legal are 0 .. {room_h.sum()}")
    price, below_h, above_h = bracket(cost_hb, total)
    tries = [repaired(cost_hb, start_h, total) for start_h in (below_h, above_h)]
    counts_h = min(tries, key=lambda counts_h: cost_of(cost_hb, counts_h))
    return best_near(cost_hb, total, counts_h, price) if refine else counts_h


def cost_of(cost_hb, counts_h):
    """The sum that is minimised, a float."""
    return float(cost_hb[np.arange(len(counts_h)), counts_h].sum())


def at_price(cost_hb, price):
    """Every head's cheapest count at that price a key, the fewest of equal ones."""
    return (cost_hb + price * np.arange(cost_hb.shape[1])).argmin(1)


def bracket(cost_hb, total):
    """(price, counts below or at the total, counts at or above): bisection.

    At a price of the highest cost nobody buys; at 0 everybody buys until nothing is
    left to gain.
    """
    low, high = 0.0, float(cost_hb[:, 0].max())
    below_h, above_h = at_price(cost_hb, high), at_price(cost_hb, low)
    if above_h.sum() <= total:  # keys to spare: they go anywhere
        return low, above_h, above_h
    for _ in range(_STEPS):
        price = (low + high) / 2
        counts_h = at_price(cost_hb, price)
        if counts_h.sum() > total:
            low, above_h = price, counts_h
        else:
            high, below_h = price, counts_h
        if counts_h.sum() == total:
            return price, counts_h, counts_h
    return high, below_h, above_h


def repaired(cost_hb, counts_h, total):
    """Counts with the exact total: single keys, the best marginal change first."""
    counts_h = counts_h.copy()
    heads = np.arange(len(counts_h))
    padded = np.pad(cost_hb, ((0, 0), (0, 1)), constant_values=np.inf)
    while (missing := total - counts_h.sum()) != 0:
        step = 1 if missing > 0 else -1
        now_h = padded[heads, counts_h]
        can_h = counts_h + step >= 0
        then_h = np.where(can_h, padded[heads, counts_h + step], np.inf)
        counts_h[(then_h - now_h).argmin()] += step
    return counts_h


def best_near(cost_hb, total, counts_h, price):
    """The optimal counts, given any with this total and any price >= 0.

    At a price every head has a loss d_h(b) = c_h(b) + price b - (the least of these)
    >= 0, and every allocation of the total costs the same constant plus its losses. So
    no head of a better one can lose more than the given allocation loses in all. Few
    counts do; dynamic programming goes through their sums.
    """
    loss_hb = cost_hb + price * np.arange(cost_hb.shape[1])
    loss_hb = loss_hb - loss_hb.min(1, keepdims=True)
    gap = cost_of(loss_hb, counts_h)
    if gap <= _NOISE * cost_hb[:, 0].sum():
        return counts_h
    choices = [np.flatnonzero(loss_b <= gap) for loss_b in loss_hb]
    first = sum(choice[0] for choice in choices)
    loss_t, tables = np.zeros(1), []  # of the sums first .. first + T - 1 so far
    for loss_b, choice in zip(loss_hb, choices):
        loss_t, chosen_t = _with_head(loss_t, loss_b, choice)
        loss_t[loss_t > gap] = np.inf
        tables.append(chosen_t)
    if not loss_t[total - first] < gap * (1 - _NOISE):
        return counts_h
    better_h, left = [], total - first
    for choice, chosen_t in zip(choices[::-1], tables[::-1]):
        better_h.append(chosen_t[left])
        left -= chosen_t[left] - choice[0]
    return np.array(better_h[::-1])


def _with_head(loss_t, loss_b, choice):
    """Least losses of all sums with one head more, and what that head takes."""
    more_t = np.full(len(loss_t) + choice[-1] - choice[0], np.inf)
    chosen_t = np.full(len(more_t), choice[0])
    for count in choice:
        at = slice(count - choice[0], count - choice[0] + len(loss_t))
        through_t = loss_t + loss_b[count]
        chosen_t[at][through_t < more_t[at]] = count
        more_t[at] = np.minimum(more_t[at], through_t)
    return more_t, chosen_t
