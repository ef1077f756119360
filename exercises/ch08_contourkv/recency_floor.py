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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch08/recency_floor is not solved yet: read chapter 08, "
        "edit exercises/ch08_contourkv/recency_floor.py, "
        "then run: kvteach grade ch08/recency_floor"
    )


def beyond_floor(kept_cs, floor):
    """Return how many keys a cell keeps beyond the floor, on average.

    The last ``floor`` positions are the floor, all of the text where it is shorter.

    kept_cs: [C, S] bool; floor: int, >= 0
    Returns a float. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch08/recency_floor is not solved yet: read chapter 08, "
        "edit exercises/ch08_contourkv/recency_floor.py, "
        "then run: kvteach grade ch08/recency_floor"
    )
