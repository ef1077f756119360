"""The error of a row that drops keys, and what its dropped mass promises."""


def tail_bound(p_s, v_sd, kept_s):
    """Return the error of the renormalised row, and a bound on it from the dropped mass.

    The error is the distance of sum_kept p v / sum_kept p from sum p v. The bound is
    2 D times the dropped mass, D being the length of the longest value.

    p_s: [S] float64, summing to 1; v_sd: [S, D] float64; kept_s: [S] bool, some True
    Returns (error, bound), two floats. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/tail_bound is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/tail_bound.py, "
        "then run: kvteach grade ch18/tail_bound"
    )


def around(p_s, v_sd, kept_s):
    """Return the same bound with lengths measured from the dense output.

    Renormalising does not care where the origin of the values is, so D may be the
    largest distance of a value from any point: take sum p v.

    Arguments as in `tail_bound`.
    Returns a float. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch18/tail_bound is not solved yet: read chapter 18, "
        "edit exercises/ch18_unit/tail_bound.py, "
        "then run: kvteach grade ch18/tail_bound"
    )
