"""H2O's sets as one ranking: the budget at which every key enters."""

import torch


def entry_budgets(mass_s):
    """Return, for every key, the smallest budget at which H2O keeps it.

    At budget n, H2O keeps the n // 2 latest keys and the n - n // 2 heaviest of the
    others; of equal masses the smaller position counts more. From n to n + 1 this
    set gains exactly one key and loses none, so it can be told by one number a key.

    The text may have 150,000 tokens: sets must not be compared budget by budget.

    mass_s: [S] float64
    Returns [S] int64, the numbers 1 .. S in some order. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/nested_ranks is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/nested_ranks.py, "
        "then run: kvteach grade ch06/nested_ranks"
    )


def kept_at(entered_s, budget):
    """Return the set that H2O keeps at a budget.

    entered_s: [S] int64, as `entry_budgets` returns it; budget: int, 0 .. S
    Returns [S] bool. Raises ValueError, with the word "budget" in the message, for
    a budget outside 0 .. S. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/nested_ranks is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/nested_ranks.py, "
        "then run: kvteach grade ch06/nested_ranks"
    )


def common_keys(entered_s, other_s, budget):
    """Return the share of its keys that one rule has in common with another.

    Both rules keep ``budget`` keys of the same text.

    entered_s, other_s: [S] int64, each the numbers 1 .. S in some order
    budget: int, 1 .. S; ValueError otherwise, as in `kept_at`

    Returns a float within 0 .. 1. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch06/nested_ranks is not solved yet: read chapter 06, "
        "edit exercises/ch06_which_keys/nested_ranks.py, "
        "then run: kvteach grade ch06/nested_ranks"
    )
