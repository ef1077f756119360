"""SnapKV's window: what the last rows look at, with its neighbours."""

import torch


def window_scores(queries_hwd, keys_ksd, scaling, kernel):
    """Return a score for every key, from the attention of the last W rows.

    The queries are those of the last W of the S positions. Row i of the sequence
    sees keys 0 .. i, and weighs them by the softmax of scaling * q.k; query head h
    reads key-value head h // R with R = H / K.

    The score of a key before the window: the mean over the window's rows of its
    weight; then the largest such mean among its ``kernel`` nearest positions
    before the window, (kernel - 1) / 2 on either side and itself (fewer at an
    end); then the mean of that over the R query heads of the group. The W keys of
    the window itself score +inf: they stay.

    queries_hwd: [H, W, D] float64; keys_ksd: [K, S, D] float64, W <= S
    scaling: float; kernel: int, odd

    Returns [K, S] float64. Raises ValueError, with the word "kernel" in the
    message, where it is even or below 1. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    if kernel < 1 or kernel % 2 == 0:
        raise ValueError(f"kernel: {kernel}; need an odd number")
    heads, window, _ = queries_hwd.shape
    kv_heads, length, _ = keys_ksd.shape
    keys_hsd = keys_ksd.repeat_interleave(heads // kv_heads, 0)
    logits = queries_hwd @ keys_hsd.transpose(1, 2) * scaling
    # The window's rows are the last ones: row w stands at S - W + w. Later keys
    # of the window take weight from the earlier keys, so they must be hidden
    # before the softmax although nobody ranks them.
    row = torch.arange(length - window, length)[:, None]
    future = torch.arange(length) > row
    weights = logits.masked_fill(future, -torch.inf).softmax(-1)
    votes = weights[:, :, : length - window].mean(1)
    score = torch.full((kv_heads, length), torch.inf, dtype=torch.float64)
    if length > window:
        pooled = torch.nn.functional.max_pool1d(
            votes, kernel, stride=1, padding=kernel // 2
        )
        # Each head's votes are pooled before the heads are averaged: the two do
        # not commute, for a largest value is not linear.
        groups = pooled.view(kv_heads, heads // kv_heads, -1)
        score[:, : length - window] = groups.mean(1)
    return score
    # END SOLUTION
