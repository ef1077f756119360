"""An interval whose unit is the prompt."""

import torch


def resampled(values_n, prompt_n, draws_bp):
    """Return the mean of every resample of whole prompts.

    A resample takes the prompts that its row of ``draws_bp`` names, with all of their
    values, a prompt named twice counting twice. The mean is over values, so a prompt
    with more values weighs more.

    values_n: [N] float64; prompt_n: [N] int64, the prompt 0 .. P-1 of each value, in
    any order, no prompt without one; draws_bp: [B, P] int64

    Returns [B] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/prompt_interval is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/prompt_interval.py, "
        "then run: kvteach grade ch18/prompt_interval"
    )


def design_effect(values_pm):
    """Return how many times the variance of the mean grows because prompts are alike.

    1 + (m - 1) rho, with rho = (between - within) / (between + (m - 1) within), where
    between is m times the variance of the prompts' means, and within is the mean of
    the variances inside prompts, both with n - 1 below.

    values_pm: [P, m] float64, P >= 2, m >= 2
    Returns a float. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/prompt_interval is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/prompt_interval.py, "
        "then run: kvteach grade ch18/prompt_interval"
    )
