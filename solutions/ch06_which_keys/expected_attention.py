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
    # BEGIN SOLUTION
    keys_hsd = keys_ksd.repeat_interleave(len(mean_hd) // len(keys_ksd), 0)
    # q.k is Gaussian with mean m.k and variance k'Ck, and E exp(a x) of such an x
    # is exp(a mean + a^2 variance / 2). The logarithm is taken on paper: exp of
    # it may be too large for any float.
    toward = torch.einsum("hd,hsd->hs", mean_hd, keys_hsd)
    along = torch.einsum("hsd,hde,hse->hs", keys_hsd, cov_hdd, keys_hsd)
    return scaling * toward + scaling**2 / 2 * along
    # END SOLUTION


def moments(queries_htd):
    """Return mean and covariance of the rows of every head.

    The covariance divides by the number T of rows, not by T - 1: of one row it is
    zero.

    queries_htd: [H, T, D] float64, T >= 1
    Returns (mean [H, D], covariance [H, D, D]), float64. The argument stays as it is.
    """
    # BEGIN SOLUTION
    mean_h1d = queries_htd.mean(1, keepdim=True)
    # Centred before it is squared: E qq' - mm' would lose all digits where the
    # mean is long, as that of queries is.
    off_htd = queries_htd - mean_h1d
    cov_hdd = off_htd.transpose(1, 2) @ off_htd / queries_htd.shape[1]
    return mean_h1d[:, 0], cov_hdd
    # END SOLUTION


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
    # BEGIN SOLUTION
    kv_heads, length, _ = keys_ksd.shape
    mean_hd, cov_hdd = moments(queries_htd[:, sinks:])
    logits_hs = expected_logits(mean_hd, cov_hdd, keys_ksd[:, sinks:], scaling)
    # The sinks are outside the softmax: they would take most of it, and they stay
    # anyway.
    weights = logits_hs.softmax(-1).view(kv_heads, -1, length - sinks).mean(1)
    score = torch.full((kv_heads, length), torch.inf, dtype=torch.float64)
    score[:, sinks:] = weights * values_ksd[:, sinks:].norm(dim=-1)
    return score
    # END SOLUTION
