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
    # BEGIN SOLUTION
    # A mask as an index runs through b, k, s in that order, which is the order
    # that is wanted: no loop.
    length = keys_bksd.shape[2]
    positions = torch.arange(length, dtype=torch.int32).expand(kept_bks.shape)
    offsets = torch.zeros(kept_bks[..., 0].numel() + 1, dtype=torch.int32)
    # The first head begins at 0: one offset more than there are heads.
    offsets[1:] = kept_bks.sum(-1).flatten().cumsum(0)
    return keys_bksd[kept_bks], positions[kept_bks], offsets
    # END SOLUTION


def unpack(keys_nd, positions_n, offsets, length):
    """Return the keys at the places that they came from, 0 where none was kept.

    Undoes `pack`, with B and K taken together: they cannot be told apart in a flat
    list. The lists may be longer than the last offset says; what follows it is room
    for entries to come, holds anything, and belongs to no head.

    keys_nd, positions_n, offsets: as `pack` returns them; length: int, S

    Returns (keys_hsd, kept_hs): [B K, S, D] in the dtype of the keys, and bool
    [B K, S]. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    heads, used = len(offsets) - 1, int(offsets[-1])
    # Which head owns each entry: head i as often as it has entries.
    owner_n = torch.arange(heads).repeat_interleave(offsets.diff().long())
    place = owner_n, positions_n[:used].long()
    keys_hsd = keys_nd.new_zeros(heads, length, keys_nd.shape[1])
    keys_hsd[place] = keys_nd[:used]
    kept_hs = torch.zeros(heads, length, dtype=torch.bool)
    kept_hs[place] = True
    return keys_hsd, kept_hs
    # END SOLUTION
