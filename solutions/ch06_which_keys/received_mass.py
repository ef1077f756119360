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
    # BEGIN SOLUTION
    heads, rows, _ = queries_htd.shape
    kv_heads, length, _ = keys_ksd.shape
    keys_hsd = keys_ksd.repeat_interleave(heads // kv_heads, 0)
    logits = queries_htd @ keys_hsd.transpose(1, 2) * scaling
    # A softmax needs its whole row, so a tile is cut along rows and not along
    # keys. Row t of the tile is row first + t of the text.
    row = torch.arange(first, first + rows)[:, None]
    logits = logits.masked_fill(torch.arange(length) > row, -torch.inf)
    return mass_hs + logits.softmax(-1).sum(1)
    # END SOLUTION


def received_mass(queries_htd, keys_ksd, scaling, tile):
    """Return how much weight every key has received from all rows together.

    The rows are taken ``tile`` at a time, the last tile may be shorter; the mass of
    a key-value head is the mean over its R query heads.

    queries_htd: [H, S, D] float64; keys_ksd: [K, S, D] float64; scaling: float
    tile: int, at least 1

    Returns [K, S] float64. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    heads, length, _ = queries_htd.shape
    mass_hs = queries_htd.new_zeros(heads, length)
    for first in range(0, length, tile):
        rows = queries_htd[:, first : first + tile]
        mass_hs = add_rows(mass_hs, rows, keys_ksd, first, scaling)
    return mass_hs.view(keys_ksd.shape[0], -1, length).mean(1)
    # END SOLUTION


def mean_received(mass_ks):
    """Return the mean weight that a key received from the rows that see it.

    Key 0 is seen by S rows and the last key by one. Sums over all rows favour
    early keys for their age; means do not.

    mass_ks: [K, S] float64, as `received_mass` returns it
    Returns [K, S] float64. The argument stays as it is.
    """
    # BEGIN SOLUTION
    length = mass_ks.shape[-1]
    # Rows j .. S - 1 see key j.
    return mass_ks / torch.arange(length, 0, -1)
    # END SOLUTION


def heaviest_and_recent(mass_ks, budget):
    """Return H2O's kept set: half of the budget recent, half heavy.

    The budget // 2 latest keys stay; of the others those with the largest mass,
    until ``budget`` keys are kept. Of equal masses the smaller position counts
    more.

    mass_ks: [K, S] float64; budget: int, 0 <= budget <= S
    Returns [K, S] bool. The argument stays as it is.
    """
    # BEGIN SOLUTION
    length = mass_ks.shape[-1]
    recent = torch.arange(length) >= length - budget // 2
    # The recent keys come first in the order and are counted once, also those
    # among them that are heavy.
    order = mass_ks.masked_fill(recent, torch.inf).argsort(
        dim=-1, descending=True, stable=True
    )
    kept = torch.zeros_like(mass_ks, dtype=torch.bool)
    return kept.scatter(1, order[:, :budget], True)
    # END SOLUTION
