"""H2O's evidence: the attention that each key has received, without the matrix."""

import torch


def add_rows(mass_hs, queries_htd, keys_ksd, first, scaling):
    """Return the mass after T further rows: what was there, plus their weights.

        mass_hj + sum over rows i = first .. first + T - 1 of p_hij

    p_hi is the softmax of scaling * q_hi.k_j over the keys j <= i; query head h
    reads key-value head h // R with R = H / K. This is all that has to be carried
    from one tile of rows to the next: S numbers a head, never a matrix S x S.

    mass_hs: [H, S] float64; queries_htd: [H, T, D] float64, of rows first and on;
    keys_ksd: [K, S, D] float64, of the whole text; first: int; scaling: float
    Returns a new [H, S] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/received_mass is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/received_mass.py, "
        "then run: kvteach grade ch06/received_mass"
    )


def received_mass(queries_htd, keys_ksd, scaling, tile):
    """Return how much weight every key has received from all rows together.

    The rows are taken ``tile`` at a time, the last tile may be shorter; the mass of
    a key-value head is the mean over its R query heads.

    queries_htd: [H, S, D] float64; keys_ksd: [K, S, D] float64; scaling: float
    tile: int, at least 1

    Returns [K, S] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/received_mass is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/received_mass.py, "
        "then run: kvteach grade ch06/received_mass"
    )


def mean_received(mass_ks):
    """Return the mean weight that a key received from the rows that see it.

    Key 0 is seen by S rows and the last key by one. Sums over all rows favour
    early keys for their age; means do not.

    mass_ks: [K, S] float64, as `received_mass` returns it
    Returns [K, S] float64. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/received_mass is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/received_mass.py, "
        "then run: kvteach grade ch06/received_mass"
    )


def heaviest_and_recent(mass_ks, budget):
    """Return H2O's kept set: half of the budget recent, half heavy.

    The budget // 2 latest keys stay; of the others those with the largest mass,
    until ``budget`` keys are kept. Of equal masses the smaller position counts
    more.

    mass_ks: [K, S] float64; budget: int, 0 <= budget <= S
    Returns [K, S] bool. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/received_mass is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/received_mass.py, "
        "then run: kvteach grade ch06/received_mass"
    )
