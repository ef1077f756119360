"""What the logit of a centroid key owes, and what a bias can pay of it."""

import torch


def slot_debt(logits_e, share_e):
    """Return by how much a centroid's logit is too small, in two parts.

    The slot's key is the mean of the evicted keys with weights r, so its logit is
    sum r_j l_j. The evicted keys together have log sum exp(l_j). The difference is

        H(r) = - sum r_j log r_j     +     KL(r || w) = sum r_j log(r_j / w_j) ,

    w being the softmax of the logits. Weights may be 0: 0 log 0 is 0. Logits may be
    in the hundreds.

    logits_e: [E] float64; share_e: [E] float64, >= 0, summing to 1
    Returns (entropy, divergence), two floats. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch12/slot_debt is not solved yet: read chapter 12, "
        "edit exercises/ch12_tail_slot/slot_debt.py, "
        "then run: kvteach grade ch12/slot_debt"
    )


def taken(logits_e, share_e, bias):
    """Return the slot's mass over the mass that it stands for.

        exp(sum r_j l_j + bias) / sum exp(l_j)

    With bias = H(r) it is at most 1, whatever the logits.

    bias: a float; the others as in `slot_debt`
    Returns a float. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch12/slot_debt is not solved yet: read chapter 12, "
        "edit exercises/ch12_tail_slot/slot_debt.py, "
        "then run: kvteach grade ch12/slot_debt"
    )
