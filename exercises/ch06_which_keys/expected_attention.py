"""ExpectedAttention: what a Gaussian query would look at."""

import torch


def expected_logits(mean_hd, cov_hdd, keys_ksd, scaling):
    """Return the logarithm of the expected exponential of every logit.

        log E exp(scaling q.k_j) ,   q Gaussian with head h's mean and covariance

    Query head h reads key-value head h // R with R = H / K.

    mean_hd: [H, D] float64; cov_hdd: [H, D, D] float64, symmetric, perhaps of low
    rank; keys_ksd: [K, S, D] float64; scaling: float

    Returns [H, S] float64, finite also where the expectation itself is not. The
    arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/expected_attention is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/expected_attention.py, "
        "then run: kvteach grade ch06/expected_attention"
    )


def moments(queries_htd):
    """Return mean and covariance of the rows of every head.

    The covariance divides by the number T of rows, not by T - 1: of one row it is
    zero.

    queries_htd: [H, T, D] float64, T >= 1
    Returns (mean [H, D], covariance [H, D, D]), float64. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/expected_attention is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/expected_attention.py, "
        "then run: kvteach grade ch06/expected_attention"
    )


def expected_scores(queries_htd, keys_ksd, values_ksd, scaling, sinks):
    """Return ExpectedAttention's score of every key.

    Mean and covariance are those of the given queries without the first ``sinks``
    rows. (The turn to future positions is left out here.) The expected logits of
    the keys after the first ``sinks`` pass through a softmax over these keys; the
    result is averaged over the R query heads of a group and multiplied by the
    length of the key's value. The first ``sinks`` keys score +inf.

    queries_htd: [H, S, D] float64; keys_ksd, values_ksd: [K, S, D] float64
    scaling: float; sinks: int, 0 <= sinks < S

    Returns [K, S] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/expected_attention is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/expected_attention.py, "
        "then run: kvteach grade ch06/expected_attention"
    )
