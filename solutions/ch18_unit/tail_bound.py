"""The error of a row that drops keys, and what its dropped mass promises."""


def tail_bound(p_s, v_sd, kept_s):
    """Return the error of the renormalised row, and a bound on it from the dropped mass.

    The error is the distance of sum_kept p v / sum_kept p from sum p v. The bound is
    2 D times the dropped mass, D being the length of the longest value.

    p_s: [S] float64, summing to 1; v_sd: [S, D] float64; kept_s: [S] bool, some True
    Returns (error, bound), two floats. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    dense_d = p_s @ v_sd
    weight_s = p_s * kept_s
    kept_d = (weight_s @ v_sd) / weight_s.sum()
    dropped = (p_s * ~kept_s).sum()
    longest = v_sd.norm(dim=1).max()
    return (kept_d - dense_d).norm().item(), (2 * longest * dropped).item()
    # END SOLUTION


def around(p_s, v_sd, kept_s):
    """Return the same bound with lengths measured from the dense output.

    Renormalising does not care where the origin of the values is, so D may be the
    largest distance of a value from any point: take sum p v.

    Arguments as in `tail_bound`.
    Returns a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    centred_sd = v_sd - p_s @ v_sd
    dropped = (p_s * ~kept_s).sum()
    return (2 * centred_sd.norm(dim=1).max() * dropped).item()
    # END SOLUTION
