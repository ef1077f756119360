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
    # BEGIN SOLUTION
    # The mean query, then the softmax; the mean of the queries' softmaxes would be
    # the tangent of nothing.
    keys, values = keys_sd[~kept_s], values_sd[~kept_s]
    r = (keys @ queries_xd.mean(0)).softmax(0)
    return r @ keys, r @ values, torch.special.entr(r).sum().item()
    # END SOLUTION


def lifted_bias(queries_xd, keys_sd, kept_s, key_d, bias, lift):
    """Return the bias plus a part of the mean gap.

    The gap of a query is log sum_E exp(q k_j) less the slot's logit, q key + bias.
    Of its mean over the queries, ``lift`` times is added to the bias.

    key_d: [D] float64; bias, lift: floats; the others as in `tangent_slot`
    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    exact_x = (queries_xd @ keys_sd[~kept_s].T).logsumexp(1)
    gap_x = exact_x - queries_xd @ key_d - bias
    return bias + lift * gap_x.mean().item()
    # END SOLUTION
