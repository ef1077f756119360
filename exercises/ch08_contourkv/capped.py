"""A budget enforced on every head: the ranking stays, the contour goes."""

import torch


def capped(score_cs, entries, floor):
    """Return the sets in which every cell keeps its ``entries`` best keys.

    The last ``floor`` keys of every cell stay and count; the highest other scores of
    the same cell follow, until it holds exactly ``entries`` keys, or the whole text
    where that is shorter. Of equal scores the smaller position comes first.

    score_cs: [C, S] float64; entries, floor: ints, >= 0

    Returns [C, S] bool. Raises ValueError, with the word "entries" in the message,
    where the floor does not fit. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch08/capped is not solved yet: read chapter 08, "
        "edit exercises/ch08_contourkv/capped.py, "
        "then run: kvteach grade ch08/capped"
    )


def price_of_capping(score_cs, contour_cs, capped_cs, floor):
    """Return which share of the contour's kept score capping gives up.

        1 - sum of the scores kept by the capped sets / by the contour's sets ,

    both sums over keys outside the floor, the last ``floor`` positions. At the same
    total it is never negative: no division of a budget keeps a larger sum than one
    threshold does.

    score_cs: [C, S] float64, >= 0; +inf is possible on the floor
    contour_cs, capped_cs: [C, S] bool; floor: int, 0 <= floor < S

    Returns a float, 0.0 where the contour keeps no score outside the floor. The
    arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch08/capped is not solved yet: read chapter 08, "
        "edit exercises/ch08_contourkv/capped.py, "
        "then run: kvteach grade ch08/capped"
    )
