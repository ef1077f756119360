"""Rules that choose which keys of one row stay. Each returns a boolean mask."""

from kvteach.rows.error import as_row, mask_of


def top_mass(p, size):
    """The ``size`` largest weights of each row: the least dropped mass possible.

    p: [..., S]; returns a boolean mask [..., S]. Equal weights are taken in
    order of position, so that the answer never depends on the sort. Cost
    O(S log S) per row. Raises ValueError for a size outside 1 .. S.
    """
    p, _ = as_row(p)
    length = p.shape[-1]
    if not 1 <= size <= length:
        raise ValueError(f"size: {size} is outside 1 .. {length}, the keys of the row")
    order = p.argsort(dim=-1, descending=True, stable=True)
    return mask_of(order[..., :size], length)
