"""Retrieval and aggregation: where truncated attention becomes the better one."""


def signal_weight(output_nd, signal_nd, background_nd):
    """Return the signal weight of every output and its residual's relative size.

    With delta = signal - background, output = background + w delta + r where r is
    orthogonal to delta. The second result is ||r||^2 / ||delta||^2.

    output_nd, signal_nd, background_nd: [n, D] float64, signal and background differ
    Returns (w, size), both [n] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    delta_nd = signal_nd - background_nd
    square_n = (delta_nd**2).sum(1)
    away_nd = output_nd - background_nd
    w_n = (away_nd * delta_nd).sum(1) / square_n
    residual_nd = away_nd - w_n[:, None] * delta_nd
    return w_n, (residual_nd**2).sum(1) / square_n
    # END SOLUTION


def mean_error(alpha, w_n, size_n):
    """Return an operator's mean squared error, in units of ||delta||^2.

    The target is alpha signal + (1 - alpha) background, the same alpha in all n rows.

    alpha: float; w_n, size_n: [n] float64 from `signal_weight`
    Returns a float.
    """
    # BEGIN SOLUTION
    return float(((alpha - w_n) ** 2 + size_n).mean())
    # END SOLUTION


def crossing(exact, sparse):
    """Return the alpha at which both operators have the same mean error.

    exact, sparse: pairs (w_n, size_n) of n rows each, as from `signal_weight`

    Beyond the crossing the sparse operator is better. Returns a float, which may lie
    outside 0 .. 1. Raises ValueError, with the word "sparse" in the message, unless the
    sparse operator has the larger mean signal weight: there is no such alpha then.
    """
    # BEGIN SOLUTION
    (w_e, size_e), (w_s, size_s) = exact, sparse
    ahead = w_s.mean() - w_e.mean()
    if ahead <= 0:
        raise ValueError(f"sparse: its mean signal weight is {ahead} above the exact one's")
    # mean (alpha - w)^2 = alpha^2 - 2 alpha mean(w) + mean(w^2): alpha^2 cancels.
    constant = (w_s**2 + size_s).mean() - (w_e**2 + size_e).mean()
    return float(constant / (2 * ahead))
    # END SOLUTION
