"""What the disagreement of a group promises about its union."""


def sandwich(overlaps, heads):
    """Return a lower and an upper bound on the union overhead of a group.

    Lower: R / (1 + 2 (R-1) J / (1+J)) with the mean J. Upper: R less what the pair that
    shares most has in common, as a share of one head's keys, 2J / (1+J).

    overlaps: [R (R-1) / 2] float64, the Jaccard index J of every pair; heads: R >= 2

    Returns (lower, upper), two floats. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/certificate is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/certificate.py, "
        "then run: kvteach grade ch15/certificate"
    )


def certified(mean, heads, factor):
    """Return which bounds promise that a group holds ``factor`` times a head's keys.

    "squares" is the lower bound of `sandwich`; "counts" is R - R (R-1) J / (1+J), from
    adding the sets and taking away what pairs share. A bound promises if it is at least
    ``factor``.

    mean: J, float in 0 .. 1; heads: R >= 2; factor: float, 1 .. R

    Returns a tuple of strings: (), ("counts",), ("squares",) or ("counts", "squares").
    Raises ValueError, with the word "factor" in the message, for a factor outside 1 .. R.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/certificate is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/certificate.py, "
        "then run: kvteach grade ch15/certificate"
    )


def furthest(heads, factor):
    """Return the largest mean J at which some bound still promises ``factor``.

    Solve each bound for J where it equals ``factor``, and take the better one: counts
    reach further where factor > R/2, squares where it is less.

    heads: R >= 2; factor: float, above 1 and at most R
    Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch15/certificate is not solved yet: read chapter 15, "
        "edit exercises/ch15_unions/certificate.py, "
        "then run: kvteach grade ch15/certificate"
    )
