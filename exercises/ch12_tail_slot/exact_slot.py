"""All evicted keys of one row, as one more key."""

import torch


def exact_slot(logits_s, values_sd, kept_s):
    """Return the logit and the value of the one key that replaces the evicted ones.

        logit  log sum_E exp(l_j)        value  sum_E exp(l_j) v_j / sum_E exp(l_j)

    Logits may be in the hundreds, or all below minus a thousand.

    logits_s: [S] float64; values_sd: [S, D] float64; kept_s: [S] bool, not all True
    Returns (logit, value): a float and a [D] float64 tensor. The arguments stay as
    they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch12/exact_slot is not solved yet: read chapter 12, "
        "edit exercises/ch12_tail_slot/exact_slot.py, "
        "then run: kvteach grade ch12/exact_slot"
    )


def attend(logits_s, values_sd, kept_s, slot_logit, slot_value_d):
    """Return the attention output over the kept keys and a slot.

    The slot takes part in the softmax like any key. A logit of -inf means that there
    is no slot; then the kept weights are renormalised.

    slot_logit: a float; slot_value_d: [D] float64; the others as in `exact_slot`, at
    least one key kept
    Returns a [D] float64 tensor. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch12/exact_slot is not solved yet: read chapter 12, "
        "edit exercises/ch12_tail_slot/exact_slot.py, "
        "then run: kvteach grade ch12/exact_slot"
    )
