"""A tail that grows: room in advance, so that not every token moves all others."""

import torch


def room(length, new, least):
    """Return how many entries to make room for when ``new`` more do not fit.

    A quarter more than is needed, length + new + (length + new) // 4, or
    length + ``least`` where that is more. All ints; returns an int.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/append_with_slack is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/append_with_slack.py, "
        "then run: kvteach grade ch07/append_with_slack"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/append_with_slack is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/append_with_slack.py, "
        "then run: kvteach grade ch07/append_with_slack"
    )


def idle_bytes(buffer_kmd, length):
    """Return the bytes of keys and values that are held and hold nothing.

    One buffer like this one holds the keys, a second of the same shape the values.

    buffer_kmd: [K, M, D]; length: int, the used entries
    Returns an int. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/append_with_slack is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/append_with_slack.py, "
        "then run: kvteach grade ch07/append_with_slack"
    )
