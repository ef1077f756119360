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
    # BEGIN SOLUTION
    if bandwidth <= 0:
        raise ValueError(f"bandwidth: {bandwidth} is not above 0")
    if peak <= 0:
        raise ValueError(f"peak: {peak} is not above 0")
    # The larger one, not the sum: while the units compute, the next bytes come.
    moving, computing = bytes_moved / bandwidth, flop / peak
    return max(moving, computing), "memory" if moving >= computing else "compute"
    # END SOLUTION


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
    # BEGIN SOLUTION
    # Memory-bound means  (weights + b cache) / bandwidth >= b flop / peak,  or
    #     b (flop / peak - cache / bandwidth) <= weights / bandwidth.
    # The bracket is what one more sequence adds to computing beyond what it adds
    # to moving. Where it is not positive, adding sequences never helps: a cache
    # that is long enough keeps decoding at the memory's speed at every batch.
    # That is the second reason to compress it, next to room.
    excess = flop / peak - cache_bytes / bandwidth
    if excess <= 0:
        return None
    return math.floor(weight_bytes / bandwidth / excess)
    # END SOLUTION
