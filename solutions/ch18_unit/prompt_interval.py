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
    # BEGIN SOLUTION
    prompts = int(prompt_n.max()) + 1
    total_p = torch.zeros(prompts, dtype=torch.float64).index_add_(0, prompt_n, values_n)
    count_p = torch.bincount(prompt_n, minlength=prompts).double()
    return total_p[draws_bp].sum(1) / count_p[draws_bp].sum(1)
    # END SOLUTION


def design_effect(values_pm):
    """Return how many times the variance of the mean grows because prompts are alike.

    1 + (m - 1) rho, with rho = (between - within) / (between + (m - 1) within), where
    between is m times the variance of the prompts' means, and within is the mean of
    the variances inside prompts, both with n - 1 below.

    values_pm: [P, m] float64, P >= 2, m >= 2
    Returns a float. The argument stays as it is.
    """
    # BEGIN SOLUTION
    rows = values_pm.shape[1]
    between = rows * values_pm.mean(1).var().item()
    within = values_pm.var(1).mean().item()
    alike = (between - within) / (between + (rows - 1) * within)
    return 1 + (rows - 1) * alike
    # END SOLUTION
