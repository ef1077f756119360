"""Retrieval and aggregation: where truncated attention becomes the better one."""


def signal_weight(output_nd, signal_nd, background_nd):
    """Return the signal weight of every output and its residual's relative size.

    With delta = signal - background, output = background + w delta + r where r is
    orthogonal to delta. The second result is ||r||^2 / ||delta||^2.

    output_nd, signal_nd, background_nd: [n, D] float64, signal and background differ
    Returns (w, size), both [n] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/crossing is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/crossing.py, "
        "then run: kvteach grade ch11/crossing"
    )


def mean_error(alpha, w_n, size_n):
    """Return an operator's mean squared error, in units of ||delta||^2.

    The target is alpha signal + (1 - alpha) background, the same alpha in all n rows.

    alpha: float; w_n, size_n: [n] float64 from `signal_weight`
    Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/crossing is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/crossing.py, "
        "then run: kvteach grade ch11/crossing"
    )


def crossing(exact, sparse):
    """Return the alpha at which both operators have the same mean error.

    exact, sparse: pairs (w_n, size_n) of n rows each, as from `signal_weight`

    Beyond the crossing the sparse operator is better. Returns a float, which may lie
    outside 0 .. 1. Raises ValueError, with the word "sparse" in the message, unless the
    sparse operator has the larger mean signal weight: there is no such alpha then.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch11/crossing is not solved yet: read chapter 11, "
        "edit exercises/ch11_how_many_keys/crossing.py, "
        "then run: kvteach grade ch11/crossing"
    )
