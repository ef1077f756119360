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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/sharpest is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/sharpest.py, "
        "then run: kvteach grade ch15/sharpest"
    )


def most_union(kept_rs):
    """Return an upper bound on the union overhead by a tree of heads.

    Join the heads one after another, each to one head that is there already: it
    brings at most the keys that it does not share with that one. So the union has at
    most R s keys less what the R - 1 joined pairs share; the best tree shares most.

    kept_rs: [R, S] bool, R >= 2; every head keeps equally many keys s, one or more
    Returns a float, the bound over s. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/sharpest is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/sharpest.py, "
        "then run: kvteach grade ch15/sharpest"
    )
