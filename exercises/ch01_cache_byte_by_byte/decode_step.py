"""One step of decoding: why keys and values are kept."""

import math

import torch


def decode_step(q_bhd, k_bkd, v_bkd, keys_bksd, values_bksd):
    """Append one token's key and value to the cache and attend with its query.

    The new token is the last one and sees every position up to its own, so
    that one step gives what attention over all S + 1 tokens gives in its last
    row. Query head h reads key-value head h // R, where R = H / K; scores are
    divided by sqrt(D).

    q_bhd: [B, H, D] and k_bkd, v_bkd: [B, K, D], of the new token
    keys_bksd, values_bksd: [B, K, S, D], the cache; S may be 0

    Returns (output, keys, values): output [B, H, D], and the cache of S + 1
    positions, [B, K, S + 1, D] each, as new tensors. The arguments stay as they
    are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch01/decode_step is not solved yet: read chapter 01, "
        "edit exercises/ch01_cache_byte_by_byte/decode_step.py, "
        "then run: kvteach grade ch01/decode_step"
    )
