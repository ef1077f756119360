"""A table for another model: the same relative depth, the same relative head."""

import torch


def stretch(table_lk, layers, heads):
    """Return the table [layers, heads], linear in relative layer and head index.

    Layer i of n is at the relative depth i / (n - 1), a single one at 0; so ends fall on
    ends. Heads likewise. Between two entries of the table, interpolate linearly.

    table_lk: [L, K] float64; layers, heads: ints, >= 1
    Returns float64. Raises ValueError naming ``layers`` or ``heads`` for less than 1.
    The arguments stay as they are.
    """
    # BEGIN SOLUTION
    for name, count in (("layers", layers), ("heads", heads)):
        if count < 1:
            raise ValueError(f"{name}: {count}; need 1 or more")

    def along(table_nx, count):
        given = len(table_nx)
        place = torch.arange(count).double() * (given - 1) / max(count - 1, 1)
        low = place.floor().long().clamp(max=given - 1)
        high = (low + 1).clamp(max=given - 1)
        part = (place - low)[:, None]
        return (1 - part) * table_nx[low] + part * table_nx[high]

    return along(along(table_lk, layers).T, heads).T.contiguous()
    # END SOLUTION
