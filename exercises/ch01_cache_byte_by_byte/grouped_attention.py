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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch01/grouped_attention is not solved yet: read chapter 01, "
        "edit exercises/ch01_cache_byte_by_byte/grouped_attention.py, "
        "then run: kvteach grade ch01/grouped_attention"
    )
