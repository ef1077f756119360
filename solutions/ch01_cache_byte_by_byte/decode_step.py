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
    # BEGIN SOLUTION
    # Append first: the token attends to itself, too. The first token of all
    # finds an empty cache and must get its own value back.
    keys = torch.cat([keys_bksd, k_bkd[:, :, None]], dim=2)
    values = torch.cat([values_bksd, v_bkd[:, :, None]], dim=2)

    # With one query there is nothing to hide, so no mask. The group's R queries
    # stand where the T queries of full attention did: [B, K, R, D].
    B, H, D = q_bhd.shape
    q_bkrd = q_bhd.reshape(B, keys.shape[1], -1, D)
    weights = torch.softmax(q_bkrd @ keys.transpose(-1, -2) / math.sqrt(D), dim=-1)

    # Without the cache this step would project all S + 1 tokens again. With it,
    # the step reads 2 (S + 1) K D numbers and computes one row for each head.
    return (weights @ values).reshape(B, H, D), keys, values
    # END SOLUTION
