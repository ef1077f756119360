"""The best division of a budget among heads, and why few divisions are left to try."""

import torch


def could_be_better(cost_hb, counts_h, price):
    """Return which counts of each head a better division could contain.

    A division of the same total is better if its sum of costs is smaller. At a price
    a key, a head's loss with b keys is c(b) + price b less the least of these over b.
    Totals being equal, a better division has a smaller sum of losses too; and since
    losses are never negative, none of its heads can lose more than the given division
    loses in all. Counts that lose at most that much are marked.

    cost_hb: [H, B + 1] float64, cost of head h with b = 0 .. B keys; counts_h: [H]
    int64, the given division; price: a float, >= 0
    Returns [H, B + 1] bool. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    loss_hb = cost_hb + price * torch.arange(cost_hb.shape[1])
    loss_hb = loss_hb - loss_hb.amin(1, keepdim=True)
    gap = loss_hb.gather(1, counts_h[:, None]).sum()
    return loss_hb <= gap
    # END SOLUTION


def best_division(cost_hb, total):
    """Return counts with this total whose sum of costs is the least possible.

    Costs never rise with b, but they need not be convex: a head may gain nothing from
    one key and much from two. Where several divisions are best, any of them. Up to 16
    heads and 400 keys a head; a bisected price leaves few counts to try, but any exact
    way is right.

    cost_hb: [H, B + 1] float64; total: int, 0 .. H B
    Returns [H] int64. Raises ValueError, with the word "total" in the message, for
    another total. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    heads, room = cost_hb.shape[0], cost_hb.shape[1] - 1
    if not 0 <= total <= heads * room:
        raise ValueError(f"total: {total} is outside 0 .. {heads * room}")
    # least[t]: of all divisions of t keys among the heads so far. A head more is one
    # (min, +) convolution; which count it took is remembered for the way back.
    least = torch.full((total + 1,), torch.inf, dtype=torch.float64)
    least[0] = 0
    taken = []
    for cost_b in cost_hb:
        more = torch.full_like(least, torch.inf)
        take = torch.zeros(total + 1, dtype=torch.int64)
        for b in range(min(room, total) + 1):
            through = least[: total + 1 - b] + cost_b[b]
            better = through < more[b:]
            more[b:][better] = through[better]
            take[b:][better] = b
        least = more
        taken.append(take)
    counts, left = [], total
    for take in reversed(taken):
        counts.append(int(take[left]))
        left -= counts[-1]
    return torch.tensor(counts[::-1])
    # END SOLUTION
