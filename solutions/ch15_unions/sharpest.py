"""The sharpest that pairs of heads can tell about a union."""


def least_union(kept_rs):
    """Return the best lower bound on the union overhead that counts of pairs allow.

    With A = sum of |K_h| and B = sum of |K_h & K_h'| over the pairs h < h', for any
    whole number m >= 1

        |union| >= 2 A / (m + 1) - 2 B / (m (m + 1)),

    because a key that n heads want counts n (2m + 1 - n) / (m (m + 1)) on the right,
    which is at most 1. The best m is 1 + floor(2 B / A), exactly, in whole numbers.

    kept_rs: [R, S] bool, R >= 2; every head keeps equally many keys, one or more
    Returns a float, the bound over one head's keys. The argument stays as it is.
    """
    # BEGIN SOLUTION
    size = int(kept_rs[0].sum())
    wishes = int(kept_rs.sum())
    wanted_s = kept_rs.sum(0)
    pairs = int((wanted_s * (wanted_s - 1) // 2).sum())
    m = 1 + 2 * pairs // wishes
    return (2 * wishes / (m + 1) - 2 * pairs / (m * (m + 1))) / size
    # END SOLUTION


def most_union(kept_rs):
    """Return an upper bound on the union overhead by a tree of heads.

    Join the heads one after another, each to one head that is there already: it
    brings at most the keys that it does not share with that one. So the union has at
    most R s keys less what the R - 1 joined pairs share; the best tree shares most.

    kept_rs: [R, S] bool, R >= 2; every head keeps equally many keys s, one or more
    Returns a float, the bound over s. The argument stays as it is.
    """
    # BEGIN SOLUTION
    ones = kept_rs.long()
    common = (ones @ ones.T).tolist()
    heads, size = len(common), common[0][0]
    # Prim: best[h] is the most that head h shares with a head of the tree.
    best, outside, shared = common[0][:], set(range(1, heads)), 0
    while outside:
        joined = max(outside, key=lambda h: best[h])
        outside.remove(joined)
        shared += best[joined]
        best = [max(x, y) for x, y in zip(best, common[joined])]
    return heads - shared / size
    # END SOLUTION
