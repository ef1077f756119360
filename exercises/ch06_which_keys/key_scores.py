"""Two rules that read the keys alone: KNorm and KeyDiff."""

import torch


def knorm(keys_ksd):
    """Return KNorm's scores: short keys stay.

        score_j = -||k_j||

    keys_ksd: [K, S, D] float16, float32 or float64. Keys in float16 may have
    numbers of several hundred, whose squares it does not hold.

    Returns [K, S], float64 for keys in float64, else float32. The argument stays as
    it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/key_scores is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/key_scores.py, "
        "then run: kvteach grade ch06/key_scores"
    )


def keydiff(keys_ksd):
    """Return KeyDiff's scores: keys unlike the average direction stay.

        score_j = -cos(k_j, a) ,   a = mean over j of k_j / ||k_j||

    with one mean direction a for each head. A key of length 0 has no direction:
    it adds 0 to the mean, where it counts all the same, and scores 0. So does
    every key where a is 0.

    keys_ksd: as in `knorm`
    Returns [K, S], between -1 and 1, of the dtype that `knorm` returns. The
    argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/key_scores is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/key_scores.py, "
        "then run: kvteach grade ch06/key_scores"
    )
