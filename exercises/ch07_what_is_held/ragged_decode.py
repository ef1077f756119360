"""Attention of one new token over flat keys and values, and over what came since."""

import torch


def ragged_decode(
    query_hd, keys_nd, values_nd, offsets, tail_keys_ktd, tail_values_ktd
):
    """Return the attention output of every query head, [H, D].

    Key-value head k owns the flat entries offsets[k] .. offsets[k + 1] - 1, the
    prefix that was kept, and the T keys tail_keys_ktd[k], the tokens since. Query
    head h reads key-value head h // R, where R = H / K, over prefix and tail in one
    softmax; logits are divided by sqrt(D). A head may have an empty prefix. Entries
    beyond offsets[K] belong to no head and may hold anything.

    query_hd: [H, D]; keys_nd, values_nd: [n, D]; offsets: [K + 1] int32
    tail_keys_ktd, tail_values_ktd: [K, T, D], T >= 1. All in one floating point type.

    Sums run in float32, or in float64 where that is the type of the arguments, and
    are rounded once, to the type of the query. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/ragged_decode is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/ragged_decode.py, "
        "then run: kvteach grade ch07/ragged_decode"
    )


def bytes_read(offsets, tail, head_dim, itemsize):
    """Return the bytes of keys and values that one such step must read.

    Each kept key and value of the prefix once, each of the ``tail`` tokens of every
    head once; a key serves all query heads of its group.

    offsets: [K + 1] int32; tail, head_dim, itemsize: ints
    Returns an int. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/ragged_decode is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/ragged_decode.py, "
        "then run: kvteach grade ch07/ragged_decode"
    )
