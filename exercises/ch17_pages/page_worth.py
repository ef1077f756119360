"""What a page is worth, and which keys stay when pages do."""

import torch


def page_scores(score_ks, page, project):
    """Return the worth of every page of ``page`` tokens: [K, N], N = ceil(S / page).

    "max" is the score of its best key, "mean" the mean over the keys that it has. The last
    page may hold fewer than ``page``. Scores may be negative. A score of +inf says that a
    key must stay, and its page is worth +inf.

    score_ks: [K, S] float64; page: int >= 1; project: "max" or "mean"
    Returns [K, N] float64. Raises ValueError, with the word "project" in the message, for
    another projection. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/page_worth is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/page_worth.py, "
        "then run: kvteach grade ch17/page_worth"
    )


def keys_kept(worth_kn, count, page, length):
    """Return the keys on the ``count`` best pages of every head.

    Of pages of equal worth the earlier comes first.

    worth_kn: [K, N] float64, from `page_scores`; count: int, 0 <= count <= N; length: S
    Returns [K, S] bool.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/page_worth is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/page_worth.py, "
        "then run: kvteach grade ch17/page_worth"
    )
