"""Do two corpora rank the heads alike, once their noise is accounted for?"""


def ranks(x_h):
    """Return the rank of every entry, 1 for the smallest; ties share their mean rank.

    x_h: [H] float64
    Returns [H] float64. The argument stays as it is.
    """
    # BEGIN SOLUTION
    below_h = (x_h[None] < x_h[:, None]).sum(1)
    equal_h = (x_h[None] == x_h[:, None]).sum(1)
    return below_h.double() + (equal_h + 1).double() / 2
    # END SOLUTION


def rank_agreement(one_h, other_h):
    """Return Spearman's rank correlation: the ordinary correlation of the ranks.

    one_h, other_h: [H] float64, not all entries equal
    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    a_h, b_h = (ranks(x) - ranks(x).mean() for x in (one_h, other_h))
    return (a_h @ b_h / (a_h.norm() * b_h.norm())).item()
    # END SOLUTION


def without_noise(one_ph, other_ph):
    """Return how two corpora would correlate, were each measured on endless prompts.

    With rank correlations: r between the mean heads of the two corpora, over the
    geometric mean of what each corpus agrees with itself. A corpus' agreement with
    itself: split its prompts into those with even and with odd index, correlate the
    two halves' mean heads, and step up from half of the prompts to all of them by
    Spearman and Brown, 2 r / (1 + r).

    one_ph, other_ph: [P, H] float64, P even and at least 2, halves that correlate
    positively; P may differ

    Returns a float, which noise can push above 1. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    itself = []
    for x_ph in (one_ph, other_ph):
        half = rank_agreement(x_ph[::2].mean(0), x_ph[1::2].mean(0))
        itself.append(2 * half / (1 + half))
    between = rank_agreement(one_ph.mean(0), other_ph.mean(0))
    return between / (itself[0] * itself[1]) ** 0.5
    # END SOLUTION
