"""One width for all heads: gather the kept keys to the front, mask the rest."""

import torch


def gather_padded(keys_bksd, kept_bks):
    """Return the kept keys of each head, as wide as the widest head needs.

    Entry m of a head is its m-th kept key in order of time; entries beyond what the
    head keeps are 0. The width M is the largest number that any head of any sequence
    keeps.

    keys_bksd: [B, K, S, D], any dtype; kept_bks: [B, K, S] bool

    Returns (keys_bkmd, lengths_bk): [B, K, M, D] in the dtype of the keys, and
    [B, K] int64, how many entries of each head are keys. The arguments stay as they
    are.
    """
    # BEGIN SOLUTION
    lengths_bk = kept_bks.sum(-1)
    widest = int(lengths_bk.max())
    # Sorting "was evicted" puts the kept keys first; only a stable sort leaves
    # them in order of time.
    order = (~kept_bks).to(torch.uint8).argsort(dim=-1, stable=True)[..., :widest]
    keys_bkmd = keys_bksd.gather(
        2, order[..., None].expand(-1, -1, -1, keys_bksd.shape[-1])
    )
    padding = torch.arange(widest) >= lengths_bk[..., None]
    # masked_fill, not a product with the mask: what was evicted may be infinite.
    return keys_bkmd.masked_fill(padding[..., None], 0), lengths_bk
    # END SOLUTION


def attend_padded(query_bkrd, keys_bkmd, values_bkmd, lengths_bk):
    """Return softmax attention of R queries a head over the entries that are keys.

    Logits are products of query and key, divided by sqrt(D). A head without any key
    has the output 0. What lies in the padding may be any finite number.

    query_bkrd: [B, K, R, D] float64; keys_bkmd, values_bkmd: [B, K, M, D] float64
    lengths_bk: [B, K] int64

    Returns [B, K, R, D] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    width, dim = keys_bkmd.shape[2:]
    logits = query_bkrd @ keys_bkmd.transpose(2, 3) / dim**0.5
    padding = torch.arange(width) >= lengths_bk[..., None]
    logits = logits.masked_fill(padding[:, :, None], -torch.inf)
    # Padding must get the logit -inf, not 0: exp(0) is a weight of 1. A row with
    # nothing but -inf is 0 / 0, which is to be 0.
    return logits.softmax(-1).nan_to_num(0.0) @ values_bkmd
    # END SOLUTION
