"""Causal attention in which several query heads share one key-value head."""

import math

import torch


def grouped_attention(q_bhtd, k_bksd, v_bksd):
    """Return the attention output of T queries over S cached positions.

    Query head h reads key-value head h // R, where R = H / K. The T queries are
    the last T of the S positions, so query t stands at position S - T + t and
    sees that position and all before it:

        scores[t, j] = <q_t, k_j> / sqrt(D)      for j <= S - T + t, else hidden
        output[t]    = sum_j softmax_j(scores[t])[j] v_j

    q_bhtd: [B, H, T, D]; k_bksd and v_bksd: [B, K, S, D]; one floating dtype

    Returns [B, H, T, D] in the dtype of q_bhtd. Scores may be in the thousands.
    Raises ValueError, naming the argument "q_bhtd" in the message, where H is no
    multiple of K or T is larger than S. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    B, H, T, D = q_bhtd.shape
    K, S = k_bksd.shape[1:3]
    if H % K:
        raise ValueError(f"q_bhtd: {H} heads are no multiple of the {K} of k_bksd")
    if T > S:
        raise ValueError(f"q_bhtd: {T} queries are more than the {S} positions")

    # Splitting H into [K, R] puts head h at [h // R, h % R]: the heads of a group
    # are neighbours. The keys get an axis of length 1 there and broadcast over
    # the group, so that no copy of them is made. That is what GQA saves.
    q = q_bhtd.reshape(B, K, H // K, T, D)
    scores = q @ k_bksd[:, :, None].transpose(-1, -2) / math.sqrt(D)

    # Row t is position S - T + t: the triangle is aligned at its last row. With
    # T = S this is the usual triangle; with T = 1 nothing is hidden.
    position = torch.arange(S - T, S, device=q.device)
    hidden = torch.arange(S, device=q.device) > position[:, None]
    scores = scores.masked_fill(hidden, float("-inf"))

    # softmax subtracts the largest score of each row before exp, so thousands do
    # not overflow, and exp(-inf) makes the hidden weights exactly 0.
    output = torch.softmax(scores, dim=-1) @ v_bksd[:, :, None]
    return output.reshape(B, H, T, D)
    # END SOLUTION
