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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch12/division is not solved yet: read chapter 12, "
        "edit exercises/ch12_tail_slot/division.py, "
        "then run: kvteach grade ch12/division"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch12/division is not solved yet: read chapter 12, "
        "edit exercises/ch12_tail_slot/division.py, "
        "then run: kvteach grade ch12/division"
    )
