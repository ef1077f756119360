"""What a group of heads holds, and how far its heads differ."""


def union_overhead(kept_rs):
    """Return the union overhead of a group and the mean Jaccard distance of its pairs.

    The overhead is the number of keys that some head keeps, over the number that one
    head keeps. The distance of two heads is 1 - |both keep it| / |either keeps it|;
    a pair counts once, and no head is paired with itself.

    kept_rs: [R, S] bool, R >= 2; every head keeps equally many keys, one or more

    Returns (overhead, distance), two floats. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    heads, size = len(kept_rs), int(kept_rs[0].sum())
    distances = []
    for a in range(heads):
        for b in range(a + 1, heads):
            both = (kept_rs[a] & kept_rs[b]).sum().item()
            either = (kept_rs[a] | kept_rs[b]).sum().item()
            distances.append(1 - both / either)
    union = kept_rs.any(0).sum().item()
    return union / size, sum(distances) / len(distances)
    # END SOLUTION


def common_share(distance):
    """Return the share of its keys that a head has in common with another.

    The heads keep equally many keys and have this Jaccard distance: half of all keys
    in common is a distance of 2/3, not 1/2.

    distance: float, 0 .. 1
    Returns a float. Raises ValueError, with the word "distance" in the message, for
    a distance outside 0 .. 1.
    """
    # BEGIN SOLUTION
    if not 0 <= distance <= 1:
        raise ValueError(f"distance: {distance} is outside 0 .. 1")
    # |both| = J |either| and |both| + |either| = 2 s.
    overlap = 1 - distance
    return 2 * overlap / (1 + overlap)
    # END SOLUTION
