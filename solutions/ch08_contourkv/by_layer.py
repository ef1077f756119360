"""The contour, layer by layer: move budget between layers, not within them."""

import torch


def layer_budgets(counts_lk):
    """Return how many keys each head of a layer gets when its heads share alike.

    A layer whose heads keep n_1 .. n_K keys has a mean of (n_1 + .. + n_K) / K, in
    general no whole number. Round every mean down; then give one more to the layers
    with the largest fractions, of equal fractions to the earlier layer, until the
    budgets sum to the sum of the means, rounded down.

    counts_lk: [L, K] int64, >= 0
    Returns [L] int64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # Fractions of K: the remainders are whole numbers, and ties are ties. As
    # floating point numbers 7 / 3 - 2 and 1 / 3 would differ in the last digit.
    heads = counts_lk.shape[1]
    total_l = counts_lk.sum(1)
    budget_l, left_l = total_l // heads, total_l % heads
    extra = int(total_l.sum()) // heads - int(budget_l.sum())
    first = left_l.argsort(descending=True, stable=True)[:extra]
    budget_l[first] += 1
    return budget_l
    # END SOLUTION


def share_alike(score_lks, counts_lk):
    """Return kept sets in which the heads of a layer keep equally many keys.

    Every head of a layer keeps its best keys, as many as `layer_budgets` gives to
    the layer. Of equal scores the smaller position comes first.

    score_lks: [L, K, S] float64; counts_lk: [L, K] int64, 0 .. S
    Returns [L, K, S] bool. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # The rank of every key in its head; below the layer's budget it stays. Sorting
    # the order that sorts gives ranks.
    order = score_lks.argsort(dim=2, descending=True, stable=True)
    return order.argsort(dim=2) < layer_budgets(counts_lk)[:, None, None]
    # END SOLUTION
