"""Demand: how much a key was asked for, at most, by any group of heads."""

import torch


def utility(logits_hts, kv_heads, most=4):
    """Return the utility of every key.

    Query head h belongs to group h // R, R = H / kv_heads. What a group says of a key
    in a row is the mean of its ``most`` largest logits, or of all R if there are
    fewer. The utility is the largest of that over all rows and groups.

    A logit of -inf says that the row does not see the key. A key that no row sees
    gets the least utility of the others.

    logits_hts: [H, T, S] float64, -inf where invisible, alike for all heads
    kv_heads, most: ints, >= 1; kv_heads divides H

    Returns [S] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/utility is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/utility.py, "
        "then run: kvteach grade ch13/utility"
    )
