"""The error in two factors: how much was dropped, and how different it was."""

import torch


def factorization(p, v, kept):
    """Return dropped mass, centroid gap and forced error of each row.

    With the kept set A, its complement E, and the means of their values under
    their own renormalised weights, m_A and m_E,

        dropped mass   p(E)          = sum_{j in E} p_j
        centroid gap   ||m_E - m_A||
        forced error   ||mu - m_A||  = dropped mass * centroid gap

    where mu = sum_j p_j v_j is the dense output. Where nothing is evicted there
    is no m_E; the gap is then 0 by definition, and so is the error.

    p:    [..., S] float64, weights of one row each, summing to 1
    v:    [..., S, D] float64, the values of the row's keys
    kept: [..., S] bool, True for the keys that stay, at least one in each row

    Returns (dropped_mass, centroid_gap, error), each a float64 tensor [...].
    The arguments stay as they are.
    """
    # BEGIN SOLUTION
    kept_p, evicted_p = p * kept, p * ~kept
    kept_mass, dropped_mass = kept_p.sum(-1), evicted_p.sum(-1)

    # Where nothing is evicted, dividing by the dropped mass would give 0 / 0.
    # Dividing by 1 instead leaves zero weights, and `where` below sets the gap.
    divisor = torch.where(dropped_mass > 0, dropped_mass, 1.0)
    m_kept = torch.einsum("...s,...sd->...d", kept_p / kept_mass[..., None], v)
    m_evicted = torch.einsum("...s,...sd->...d", evicted_p / divisor[..., None], v)

    # Why the product is the error: mu is the mean of the two centroids,
    #     mu = p(A) m_A + p(E) m_E,
    # and p(A) = 1 - p(E), so mu - m_A = p(E) (m_E - m_A). A selector can win on
    # either factor: drop little, or drop keys whose mean is where m_A already is.
    gap = (m_evicted - m_kept).norm(dim=-1)
    gap = torch.where(dropped_mass > 0, gap, 0.0)
    return dropped_mass, gap, dropped_mass * gap
    # END SOLUTION
