"""The roofline: the least time a step can take, and what limits it."""

import math


def roofline(bytes_moved, flop, bandwidth, peak):
    """Return the least time of a step and what bounds it.

    A machine that moves ``bandwidth`` bytes a second and computes ``peak`` FLOP
    a second, both at the same time at best, needs at least

        seconds = max(bytes_moved / bandwidth, flop / peak)

    Returns (seconds, bound): a float, and "memory" or "compute" for the longer
    of the two; "memory" where they are equal. Raises ValueError, naming the
    argument, when bandwidth or peak is not above 0.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch01/roofline is not solved yet: read chapter 01, "
        "edit exercises/ch01_cache_byte_by_byte/roofline.py, "
        "then run: kvteach grade ch01/roofline"
    )


def largest_memory_bound_batch(weight_bytes, cache_bytes, flop, bandwidth, peak):
    """Return the largest batch whose decode step is still bound by memory.

    One step reads the weights once for the whole batch and the cache once for
    each sequence, and computes ``flop`` for each sequence: batch b moves
    weight_bytes + b * cache_bytes bytes and computes b * flop.

    weight_bytes: bytes of all weights; cache_bytes, flop: those of one sequence
    Returns an int, 0 where even batch 1 is bound by compute, or None where no
    batch ever is. A batch that needs the same time for both counts as bound by
    memory, as in `roofline`.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch01/roofline is not solved yet: read chapter 01, "
        "edit exercises/ch01_cache_byte_by_byte/roofline.py, "
        "then run: kvteach grade ch01/roofline"
    )
