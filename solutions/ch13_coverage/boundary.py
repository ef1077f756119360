"""The boundary loss: what matters is who is above the cut."""

import torch


def boundary(score_s, teacher_s, kept, width, margin):
    """Return the mean hinge over pairs of keys astride the teacher's cut.

    Rank the keys by the teacher, largest first, of equal ones the smaller position
    first; the first ``kept`` of them are kept. P are the ``width`` last of the kept,
    N the ``width`` first of the others; fewer where there are not so many.

        mean over i in P, j in N of max(0, margin - (score_i - score_j))

    score_s, teacher_s: [S] float64
    kept, width: ints, 1 <= kept < S, width >= 1; margin: float

    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    order = teacher_s.argsort(descending=True, stable=True)
    above = score_s[order[max(kept - width, 0) : kept]]
    below = score_s[order[kept : kept + width]]
    return (margin - above[:, None] + below).clamp_min(0).mean().item()
    # END SOLUTION


def overlap(score_s, teacher_s, kept):
    """Return which share of the teacher's ``kept`` keys the scores keep too.

    Of equal scores the smaller position comes first.

    score_s, teacher_s: [S] float64; kept: int, 1 .. S
    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    best = (
        torch.zeros(len(x), dtype=torch.bool).scatter(
            0, x.argsort(descending=True, stable=True)[:kept], True
        )
        for x in (score_s, teacher_s)
    )
    ours, theirs = best
    return (ours & theirs).sum().item() / kept
    # END SOLUTION
