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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/page_budget is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/page_budget.py, "
        "then run: kvteach grade ch17/page_budget"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/page_budget is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/page_budget.py, "
        "then run: kvteach grade ch17/page_budget"
    )


def wasted(tokens, layers, heads, page):
    """Return the tokens of the budget that no full page uses: together, and alone.

    Together: divided as above. Alone: every layer gets the same share of the tokens,
    rounded down, and buys as many pages as that pays for.

    Returns (together, alone), two ints.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch17/page_budget is not solved yet: read chapter 17, "
        "edit exercises/ch17_pages/page_budget.py, "
        "then run: kvteach grade ch17/page_budget"
    )
