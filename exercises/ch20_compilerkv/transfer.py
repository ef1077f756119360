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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch20/transfer is not solved yet: read chapter 20, "
        "edit exercises/ch20_compilerkv/transfer.py, "
        "then run: kvteach grade ch20/transfer"
    )
