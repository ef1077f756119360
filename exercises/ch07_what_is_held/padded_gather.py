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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/padded_gather is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/padded_gather.py, "
        "then run: kvteach grade ch07/padded_gather"
    )


def attend_padded(query_bkrd, keys_bkmd, values_bkmd, lengths_bk):
    """Return softmax attention of R queries a head over the entries that are keys.

    Logits are products of query and key, divided by sqrt(D). A head without any key
    has the output 0. What lies in the padding may be any finite number.

    query_bkrd: [B, K, R, D] float64; keys_bkmd, values_bkmd: [B, K, M, D] float64
    lengths_bk: [B, K] int64

    Returns [B, K, R, D] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/padded_gather is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/padded_gather.py, "
        "then run: kvteach grade ch07/padded_gather"
    )
