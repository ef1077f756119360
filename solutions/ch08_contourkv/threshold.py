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
    # BEGIN SOLUTION
    cells, length = score_cs.shape
    if not 1 <= total <= cells * length:
        raise ValueError(f"total: {total} is outside 1 .. {cells * length}")
    # Transposed, the smaller position lies first in memory, and a stable sort keeps
    # equal scores in the order in which they lie.
    by_position = score_cs.T.reshape(-1)
    order = by_position.argsort(descending=True, stable=True)[:total]
    kept = torch.zeros(cells * length, dtype=torch.bool)
    kept[order] = True
    return kept.reshape(length, cells).T, by_position[order[-1]].item()
    # END SOLUTION


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
    # BEGIN SOLUTION
    # Not: every cell has its own tau. The lowest of all kept scores is compared
    # with the highest of all dropped ones; equal is fine, a tie has to fall somehow.
    bought, dropped = score_cs[kept_cs & ~floor_cs], score_cs[~kept_cs]
    if len(bought) == 0 or len(dropped) == 0:
        return True
    return bool(bought.min() >= dropped.max())
    # END SOLUTION
