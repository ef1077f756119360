"""One threshold for all heads, found by one ranking."""

import torch


def one_threshold(score_cs, total):
    """Return the ``total`` highest scores of all cells together, and the threshold.

    A cell is one head of one layer. How many keys a cell keeps follows from the
    scores alone: some cells may keep none, some all. Of equal scores the smaller
    position comes first, and at the same position the smaller cell.

    score_cs: [C, S] float64; total: int, 1 <= total <= C S

    Returns (kept, tau): kept is [C, S] bool with exactly ``total`` True; tau is the
    least kept score, a float. Raises ValueError, with the word "total" in the
    message, for any other total. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch08/threshold is not solved yet: read chapter 08, "
        "edit exercises/ch08_contourkv/threshold.py, "
        "then run: kvteach grade ch08/threshold"
    )


def has_one_price(score_cs, kept_cs, floor_cs):
    """Return whether some number tau separates the kept scores from the dropped.

    Every kept key outside the floor must have a score of at least tau, every dropped
    key one of at most tau, in all cells with the same tau. Keys of the floor are
    kept whatever their score. By the exchange argument this holds exactly where no
    other sets with these floors and this total have a larger sum of scores.

    score_cs: [C, S] float64; kept_cs: [C, S] bool; floor_cs: [C, S] bool, the keys
    of the floor, all of them kept

    Returns a bool, True also where nothing is dropped, or nothing but the floor
    kept. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch08/threshold is not solved yet: read chapter 08, "
        "edit exercises/ch08_contourkv/threshold.py, "
        "then run: kvteach grade ch08/threshold"
    )
