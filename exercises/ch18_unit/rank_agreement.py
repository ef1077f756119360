"""Do two corpora rank the heads alike, once their noise is accounted for?"""


def ranks(x_h):
    """Return the rank of every entry, 1 for the smallest; ties share their mean rank.

    x_h: [H] float64
    Returns [H] float64. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/rank_agreement is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/rank_agreement.py, "
        "then run: kvteach grade ch18/rank_agreement"
    )


def rank_agreement(one_h, other_h):
    """Return Spearman's rank correlation: the ordinary correlation of the ranks.

    one_h, other_h: [H] float64, not all entries equal
    Returns a float. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/rank_agreement is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/rank_agreement.py, "
        "then run: kvteach grade ch18/rank_agreement"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/rank_agreement is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/rank_agreement.py, "
        "then run: kvteach grade ch18/rank_agreement"
    )
