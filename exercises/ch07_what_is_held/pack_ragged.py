"""From a mask to flat storage and back: what variable-length attention reads."""

import torch


def pack(keys_bksd, kept_bks):
    """Return the kept keys in one flat list, and where each head's begin.

    The heads follow one another: all heads of the first sequence, then all of the
    second. Inside a head the keys stay in order of time. Head i of that list owns
    the entries offsets[i] .. offsets[i + 1] - 1; a head that keeps nothing owns none.

    keys_bksd: [B, K, S, D], any dtype; kept_bks: [B, K, S] bool

    Returns (keys_nd, positions_n, offsets): [n, D] in the dtype of the keys, [n]
    int32 with the position that each entry had, and [B K + 1] int32, the first 0
    and the last n. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/pack_ragged is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/pack_ragged.py, "
        "then run: kvteach grade ch07/pack_ragged"
    )


def unpack(keys_nd, positions_n, offsets, length):
    """Return the keys at the places that they came from, 0 where none was kept.

    Undoes `pack`, with B and K taken together: they cannot be told apart in a flat
    list. The lists may be longer than the last offset says; what follows it is room
    for entries to come, holds anything, and belongs to no head.

    keys_nd, positions_n, offsets: as `pack` returns them; length: int, S

    Returns (keys_hsd, kept_hs): [B K, S, D] in the dtype of the keys, and bool
    [B K, S]. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/pack_ragged is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/pack_ragged.py, "
        "then run: kvteach grade ch07/pack_ragged"
    )
