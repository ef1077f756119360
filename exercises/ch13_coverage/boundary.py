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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/boundary is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/boundary.py, "
        "then run: kvteach grade ch13/boundary"
    )


def overlap(score_s, teacher_s, kept):
    """Return which share of the teacher's ``kept`` keys the scores keep too.

    Of equal scores the smaller position comes first.

    score_s, teacher_s: [S] float64; kept: int, 1 .. S
    Returns a float. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch13/boundary is not solved yet: read chapter 13, "
        "edit exercises/ch13_coverage/boundary.py, "
        "then run: kvteach grade ch13/boundary"
    )
