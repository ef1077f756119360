"""A budget in tokens, divided into pages, and what it really holds."""


def pages_per_layer(tokens, layers, heads, page):
    """Return how many pages each KV head of each layer keeps, by largest remainder.

    ``tokens`` is the budget of all layers and KV heads together. A layer that keeps K_l
    pages a head pays heads * page * K_l of it. All layers have the same claim; as many
    pages as the budget pays for are handed out, and those that can't be divided evenly
    go to the first layers, one each.

    All arguments are ints, tokens >= 0, the others >= 1.
    Returns a list of ``layers`` ints.
    """
    # BEGIN SOLUTION
    each, more = divmod(tokens // (heads * page), layers)
    return [each + (layer < more) for layer in range(layers)]
    # END SOLUTION


def held_tokens(pages, heads, page, length, last_stays):
    """Return the tokens that such a budget holds, exactly: the least and the most.

    A text of ``length`` tokens has ceil(length / page) pages, and the last of them holds
    what is left, which is less than ``page`` where page does not divide length. If
    last_stays, every head that keeps any page keeps the last one. If not, heads may keep
    it or not, but a head that keeps all pages has it.

    pages: list of ints, pages that each KV head of a layer keeps, 0 .. ceil(length / page)
    heads, page, length: ints >= 1

    Returns (least, most), two ints, over all layers and heads.
    """
    # BEGIN SOLUTION
    missing = -length % page
    everything = -(-length // page)
    full = sum(pages) * page
    # Who may have the short page: every head with a page. Who must: heads with all.
    may = missing * sum(k > 0 for k in pages)
    must = may if last_stays else missing * sum(k == everything for k in pages)
    return heads * (full - may), heads * (full - must)
    # END SOLUTION


def wasted(tokens, layers, heads, page):
    """Return the tokens of the budget that no full page uses: together, and alone.

    Together: divided as above. Alone: every layer gets the same share of the tokens,
    rounded down, and buys as many pages as that pays for.

    Returns (together, alone), two ints.
    """
    # BEGIN SOLUTION
    together = tokens % (heads * page)
    alone = tokens - layers * (tokens // layers // (heads * page)) * heads * page
    return together, alone
    # END SOLUTION
