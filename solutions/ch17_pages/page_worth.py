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
    # BEGIN SOLUTION
    if project not in ("max", "mean"):
        raise ValueError(f"project: {project!r}; need max or mean")
    pages = score_ks.split(page, dim=1)  # the last one short, nothing to pad
    if project == "max":
        return torch.stack([p.amax(1) for p in pages], 1)
    return torch.stack([p.mean(1) for p in pages], 1)
    # END SOLUTION


def keys_kept(worth_kn, count, page, length):
    """Return the keys on the ``count`` best pages of every head.

    Of pages of equal worth the earlier comes first.

    worth_kn: [K, N] float64, from `page_scores`; count: int, 0 <= count <= N; length: S
    Returns [K, S] bool.
    """
    # BEGIN SOLUTION
    order_kn = worth_kn.argsort(dim=1, descending=True, stable=True)
    kept_kn = torch.zeros_like(worth_kn, dtype=torch.bool)
    kept_kn.scatter_(1, order_kn[:, :count], True)
    return kept_kn.repeat_interleave(page, 1)[:, :length]
    # END SOLUTION
