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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/window_scores is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/window_scores.py, "
        "then run: kvteach grade ch06/window_scores"
    )
