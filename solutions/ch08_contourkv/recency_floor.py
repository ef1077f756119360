"""The most recent keys stay: inside the budget, or on top of it."""

import torch


def with_floor(score_cs, entries, floor, inside):
    """Return kept sets under one threshold, with a recency floor.

    The last ``floor`` keys of every cell stay. The highest of all other scores, over
    all cells together, fill the rest of the budget, exactly:

        inside:       entries keys a cell on average, the floor among them
        not inside:   entries keys a cell on average on top of the floor

    A text shorter than the floor is floor from end to end; where the budget is
    larger than the text, everything stays. Of equal scores the smaller position
    comes first, and at the same position the smaller cell.

    score_cs: [C, S] float64; entries, floor: ints, >= 0; inside: bool

    Returns [C, S] bool. Raises ValueError, with the word "entries" in the message,
    where the floor is inside and does not fit. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    cells, length = score_cs.shape
    floor = min(floor, length)
    if inside and entries < floor:
        raise ValueError(f"entries: {entries} is less than the floor, {floor}")
    # A score above all others is a way to say "must stay": the floor takes part in
    # the ranking and comes first.
    score_cs = score_cs.clone()
    score_cs[:, length - floor :] = torch.inf
    mean = min(entries if inside else entries + floor, length)
    by_position = score_cs.T.reshape(-1)
    order = by_position.argsort(descending=True, stable=True)[: cells * mean]
    kept = torch.zeros(cells * length, dtype=torch.bool)
    kept[order] = True
    return kept.reshape(length, cells).T
    # END SOLUTION


def beyond_floor(kept_cs, floor):
    """Return how many keys a cell keeps beyond the floor, on average.

    The last ``floor`` positions are the floor, all of the text where it is shorter.

    kept_cs: [C, S] bool; floor: int, >= 0
    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # Not kept[:, :-floor]: with a floor of 0 that slice is empty, and with one
    # longer than the text it happens to be right.
    before = max(kept_cs.shape[1] - floor, 0)
    return kept_cs[:, :before].sum().item() / len(kept_cs)
    # END SOLUTION
