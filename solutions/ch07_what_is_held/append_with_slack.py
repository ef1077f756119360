"""A tail that grows: room in advance, so that not every token moves all others."""

import torch


def room(length, new, least):
    """Return how many entries to make room for when ``new`` more do not fit.

    A quarter more than is needed, length + new + (length + new) // 4, or
    length + ``least`` where that is more. All ints; returns an int.
    """
    # BEGIN SOLUTION
    needed = length + new
    return max(needed + needed // 4, length + least)
    # END SOLUTION


def append_all(chunks, least=64):
    """Return a buffer to which all chunks were appended, in order of time.

    It begins without a buffer: room for 0 entries, none used. A chunk that fits in
    the room that is left is written there. One that does not fit causes a new
    buffer of `room` entries, into which what is used so far is copied first.

    chunks: list of [K, t, D] tensors, t >= 1, of one dtype, at least one of them
    least: int

    Returns (buffer_kmd, length, copied): the buffer [K, M, D] with all its room, of
    which the first ``length`` entries are used and the others may hold anything; and
    the number of entries of one head that were copied from an old buffer into a new
    one, over all growths. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    heads, _, dim = chunks[0].shape
    buffer = chunks[0].new_zeros(heads, 0, dim)
    length = copied = 0
    for chunk in chunks:
        new = chunk.shape[1]
        if length + new > buffer.shape[1]:
            grown = chunk.new_zeros(heads, room(length, new, least), dim)
            grown[:, :length] = buffer[:, :length]
            # What is used moves. The new chunk does not: it is written once anyway.
            copied += length
            buffer = grown
        buffer[:, length : length + new] = chunk
        length += new
    return buffer, length, copied
    # END SOLUTION


def idle_bytes(buffer_kmd, length):
    """Return the bytes of keys and values that are held and hold nothing.

    One buffer like this one holds the keys, a second of the same shape the values.

    buffer_kmd: [K, M, D]; length: int, the used entries
    Returns an int. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    heads, width, dim = buffer_kmd.shape
    return 2 * heads * (width - length) * dim * buffer_kmd.element_size()
    # END SOLUTION
