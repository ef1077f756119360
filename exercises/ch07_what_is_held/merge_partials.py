"""Attention in pieces: what a piece must report so that pieces can be put together."""

import torch


def partial(logits_xn, values_nd):
    """Return the attention output over some of the keys, and their log-sum-exp.

        out = sum_j softmax(logits)_j v_j ,   lse = log sum_j exp(logits_j)

    Over no keys at all the output is 0 and the log-sum-exp -inf.

    logits_xn: [X, n] float64, n >= 0; values_nd: [n, D] float64
    Returns (out_xd, lse_x), float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/merge_partials is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/merge_partials.py, "
        "then run: kvteach grade ch07/merge_partials"
    )


def merge(outs_cxd, lses_cx):
    """Return output and log-sum-exp over all keys, from those of C disjoint pieces.

        lse = log sum_c exp(lse_c) ,   out = sum_c exp(lse_c - lse) out_c

    A piece without keys has the log-sum-exp -inf and counts for nothing; where no
    piece has keys, the output is 0 and the log-sum-exp -inf. The result is a piece
    like the others and can be merged again.

    outs_cxd: [C, X, D] float64; lses_cx: [C, X] float64, of any size
    Returns (out_xd, lse_x), float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/merge_partials is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/merge_partials.py, "
        "then run: kvteach grade ch07/merge_partials"
    )
