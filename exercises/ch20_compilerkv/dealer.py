"""A dealer of actions: an even log that can be continued after a kill."""

import torch


def deal(seed, first, count, cards, players):
    """Return the cards first .. first + count - 1 of every player, [count, players].

    Each player has an endless sequence of decks. A deck holds every card 0 .. cards - 1
    once, shuffled anew for every player and every deck, each order equally likely; the
    next deck begins when one is used up. A part is the same whether it is dealt alone or
    within a longer one, and costs no time for what came before. Another seed gives
    another sequence. No random number comes from torch's global generator.

    seed, first: ints, >= 0; count, cards, players: ints, >= 1
    Returns int64.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch20/dealer is not solved yet: read chapter 20, "
        "edit exercises/ch20_compilerkv/dealer.py, "
        "then run: kvteach grade ch20/dealer"
    )


def uneven(action_np, cards):
    """Return how uneven a log is: of all players, the largest share of one card times
    ``cards``, minus 1.

    0 if every player had every card equally often.

    action_np: [N, players] int64, entries below ``cards``; cards: int
    Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch20/dealer is not solved yet: read chapter 20, "
        "edit exercises/ch20_compilerkv/dealer.py, "
        "then run: kvteach grade ch20/dealer"
    )
