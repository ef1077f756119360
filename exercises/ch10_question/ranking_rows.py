"""Who votes: a window's scores when only some rows may rank."""

import torch


def window_scores(weights_hts, window, ranking, forced):
    """Return the score of every key by the last rows that may rank.

    Rows 0 .. ranking - 1 may rank, and the last ``window`` of these vote: a key's
    score is the mean weight that they give it, over the rows and over all heads. The
    last ``forced`` keys of the whole text must stay: their score is 2, which no mean
    of weights can reach.

    weights_hts: [H, S, S] float64, one causal attention matrix a head, rows by keys
    window, ranking, forced: ints, 1 <= ranking <= S, 0 <= forced <= S

    Returns [S] float64. Raises ValueError, with the word "window" in the message,
    for a window outside 1 .. ranking. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch10/ranking_rows is not solved yet: read chapter 10, "
        "edit exercises/ch10_question/ranking_rows.py, "
        "then run: kvteach grade ch10/ranking_rows"
    )


def silent_keys(length, window, ranking):
    """Return which keys no voting row can see, whatever the model and the text.

    The voting rows are those of `window_scores`. Attention is causal: a row sees the
    keys up to its own place. A key that some voter sees, and gives no weight to, is
    not silent: that voter had a choice.

    length, window, ranking: ints, 1 <= window <= ranking <= length
    Returns [length] bool.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch10/ranking_rows is not solved yet: read chapter 10, "
        "edit exercises/ch10_question/ranking_rows.py, "
        "then run: kvteach grade ch10/ranking_rows"
    )
