"""A paired difference with an interval over documents, and the design effect."""

import numpy as np


def paired_interval(ours, theirs, documents, seed, resamples=1000, level=0.95):
    """Return the mean paired difference and a percentile interval for it.

    ours[i] and theirs[i] answer the same question, of document documents[i]. The
    estimate is the mean of ours - theirs over all questions. Each resample draws
    documents, as many as there are, with replacement, takes all questions of each
    document drawn, as often as it was drawn, and computes the mean over all these
    questions: a document with more questions weighs more, there as in the
    estimate. The interval goes from the (1 - level) / 2 quantile of these means to
    their (1 + level) / 2 quantile, with numpy.quantile.

    To be reproducible, resample i draws positions in the ascending list of
    distinct labels by the i-th call of

        generator.integers(number_of_documents, size=number_of_documents)

    on generator = numpy.random.default_rng(seed), and nothing else is drawn.

    ours, theirs: [n] NumPy float64; documents: [n] NumPy integer labels, in any
    order and not necessarily 0, 1, 2, ...; seed, resamples: ints; level: float

    Returns (estimate, low, high), Python floats. Raises ValueError, with the word
    "documents" in the message, where there are fewer than two. The arguments stay
    as they are.
    """
    # BEGIN SOLUTION
    labels, of_question = np.unique(documents, return_inverse=True)
    if len(labels) < 2:
        raise ValueError(f"documents: {len(labels)} distinct; need at least 2")
    # A document enters a mean with a sum and a count, and nothing else.
    sums = np.bincount(of_question, ours - theirs)
    counts = np.bincount(of_question)
    generator = np.random.default_rng(seed)
    means = []
    for _ in range(resamples):
        picks = generator.integers(len(labels), size=len(labels))
        means.append(sums[picks].sum() / counts[picks].sum())
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float((ours - theirs).mean()), float(low), float(high)
    # END SOLUTION


def design_effect(values_cm):
    """Return the intraclass correlation, the design effect, the effective number.

    Row c holds the m values of document c. With B = m times the variance of the
    row means and W the mean of the rows' variances (both with one degree of
    freedom less, ddof=1), the intraclass correlation is estimated as

        rho = (B - W) / (B + (m - 1) W)

    A negative estimate is set to 0, and constant values have 0. The design effect
    is 1 + (m - 1) rho; the effective number is the number of values over it.

    values_cm: [C, m] NumPy float64
    Returns (rho, effect, number), Python floats. Raises ValueError, with the words
    "values_cm" in the message, unless C >= 2 and m >= 2. The argument stays as it
    is.
    """
    # BEGIN SOLUTION
    if values_cm.ndim != 2 or min(values_cm.shape) < 2:
        raise ValueError(f"values_cm: shape {values_cm.shape}; need two of each")
    m = values_cm.shape[1]
    between = m * values_cm.mean(1).var(ddof=1)
    within = values_cm.var(axis=1, ddof=1).mean()
    total = between + (m - 1) * within
    rho = max(0.0, float((between - within) / total)) if total > 0 else 0.0
    effect = 1 + (m - 1) * rho
    return rho, effect, values_cm.size / effect
    # END SOLUTION
