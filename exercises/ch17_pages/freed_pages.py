"""Which pages come back when keys are evicted one by one."""

import torch


def tokens_held(kept_lks, page, table):
    """Return how many tokens of keys all heads hold, if a page is held or free.

    A page is held while anyone who reads through its table wants a key on it. The table
    belongs to one "head" of a layer, to all heads of a "layer", or to all heads of all
    layers, "model". On a held page every head that reads through the table holds all
    tokens. The last page may be short, and counts as what it has.

    kept_lks: [L, K, S] bool, the keys that each head wants; page: int >= 1
    Returns an int. Raises ValueError, with the word "table" in the message, for another
    table. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/freed_pages is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/freed_pages.py, "
        "then run: kvteach grade ch17/freed_pages"
    )


def share_held_at_random(share, length, page):
    """Return the expected share of tokens held, if each is wanted with this chance.

    Every token is wanted with probability ``share``, independently; one head with a table
    of its own. A short last page is held less often than a full one.

    share: float, 0 .. 1; length, page: ints >= 1
    Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/freed_pages is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/freed_pages.py, "
        "then run: kvteach grade ch17/freed_pages"
    )


def largest_page(share, wanted):
    """Return the largest page at which random eviction still frees enough.

    Free enough: a full page is free with probability at least ``wanted``, when every token
    is kept with probability ``share``, independently.

    share, wanted: floats, both strictly between 0 and 1
    Returns an int; 0 where even pages of one token are not free often enough.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/freed_pages is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/freed_pages.py, "
        "then run: kvteach grade ch17/freed_pages"
    )
