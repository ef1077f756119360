"""A slot that is exact where queries are, and too light everywhere else."""

import torch


def tangent_slot(queries_xd, keys_sd, values_sd, kept_s):
    """Return the slot that answers the mean of the queries exactly.

    With q the mean query and r the softmax of q k_j over the evicted keys: its key is
    the mean of their keys with weights r, its value that of their values, and its
    bias the entropy of r. Queries are already scaled.

    queries_xd: [X, D] float64; keys_sd, values_sd: [S, D] float64; kept_s: [S] bool,
    not all True
    Returns (key, value, bias): [D], [D] float64 tensors and a float. The arguments
    stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch12/tangent is not solved yet: read chapter 12, "
        "edit exercises/ch12_tail_slot/tangent.py, "
        "then run: kvteach grade ch12/tangent"
    )


def lifted_bias(queries_xd, keys_sd, kept_s, key_d, bias, lift):
    """Return the bias plus a part of the mean gap.

    The gap of a query is log sum_E exp(q k_j) less the slot's logit, q key + bias.
    Of its mean over the queries, ``lift`` times is added to the bias.

    key_d: [D] float64; bias, lift: floats; the others as in `tangent_slot`
    Returns a float. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch12/tangent is not solved yet: read chapter 12, "
        "edit exercises/ch12_tail_slot/tangent.py, "
        "then run: kvteach grade ch12/tangent"
    )
