"""Four terms between the distribution that chose and the row that attends."""

import torch


def terms(logits_ds, evicted_s):
    """Return the four terms of the certificate, and how much of each arrives on E.

    The lines of logits_ds give four distributions by softmax: the student's, the
    teacher's, the utility's, and the row's own. Terms: the student's mass on the
    evicted keys, then the total variation of each step to the next line, half the sum
    of absolute changes. Arriving: the same first number, then for each step the sum of
    those changes on evicted keys that are increases.

    logits_ds: [4, S] float64; evicted_s: [S] bool
    Returns ([4] float64, [4] float64). The arguments stay as they are.
    """
    # BEGIN SOLUTION
    walk = logits_ds.softmax(1)
    change = walk.diff(dim=0)
    first = walk[:1] @ evicted_s.double()
    moved = change.abs().sum(1) / 2
    arriving = change.clamp_min(0) @ evicted_s.double()
    return torch.cat([first, moved]), torch.cat([first, arriving])
    # END SOLUTION


def bound(term_d, gap):
    """Return the largest error that the terms allow: gap times a mass.

    term_d: [4] float64, four terms of either kind; gap: float >= 0, the distance of
    the evicted mean from the kept one. No mass is above 1. Returns a float.
    """
    # BEGIN SOLUTION
    return gap * min(float(term_d.sum()), 1.0)
    # END SOLUTION


def ceilings(logits_ds):
    """Return how large each total variation can be, from the logits' change alone.

    A step whose logits change by at most osc = largest change - smallest change has a
    total variation of at most tanh(osc / 4).

    logits_ds: [4, S] float64. Returns [3] float64.
    """
    # BEGIN SOLUTION
    change = logits_ds.diff(dim=0)
    return ((change.amax(1) - change.amin(1)) / 4).tanh()
    # END SOLUTION
