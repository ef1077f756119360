"""The stabilised utility: one row for all, values in units of their head, a veto."""

import torch


def utility(rows_lhwt, values_lktd, weight_lk):
    """Return the utility of every key in every layer, [L, T].

        alpha_t = T times the mean over l, h, w of rows_lhwt
        rho_lkt = |v_lkt| / mean over t of |v_lkt|;  1 where that mean is 0
        u_lt    = max over k of weight_lk alpha_t rho_lkt

    rows_lhwt: attention weights of the window's W rows, all layers and query heads
    values_lktd: [L, K, T, D]; weight_lk: [L, K], positive
    float64 all. Returns float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch20/stabilised is not solved yet: read chapter 20, "
        "edit exercises/ch20_compilerkv/stabilised.py, "
        "then run: kvteach grade ch20/stabilised"
    )
