"""Checks of ch20/dealer."""

import time

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=5,
    title="An even log that survives a kill",
    difficulty=3,
    minutes=40,
    hints=(
        "If every deck has a random generator of its own, what must its seed depend "
        "on? What must it not depend on?",
        "Deck number first // cards holds the first card. Sorting random numbers "
        "along one axis shuffles every column by itself.",
        "torch.rand(cards, players, generator=g).argsort(0) is one deck for all "
        "players; join the decks that are touched and cut at first % cards.",
    ),
)

DECKS = 2000
"""Draws for frequencies; 5 standard deviations pass one honest dealer in 10^5."""


def dealt(answer, seed, first, count, cards, players):
    """What the answer deals, if it is a table of the right kind."""
    got = answer.deal(seed, first, count, cards, players)
    want = torch.zeros(count, players, dtype=torch.int64)
    expect_same(got, got if fits(got, want) else want, name="the cards")
    return got


def fits(got, want):
    """Same kind, shape and dtype."""
    return torch.is_tensor(got) and (got.shape, got.dtype) == (want.shape, want.dtype)


@check(points=2, likely="a deck holds every card once, for every player.")
def test_decks(answer):
    """Every deck of every player is complete"""
    for seed, cards, players, decks in ((0, 7, 4, 3), (5, 29, 10, 2), (1, 1, 3, 4)):
        got = dealt(answer, seed, 0, cards * decks, cards, players)
        told = got.reshape(-1, cards, players).sort(1).values
        want = torch.arange(cards)[None, :, None].expand(decks, cards, players)
        expect_same(told, want.contiguous(), name="a sorted deck")


@check(points=2, likely="a deck's shuffle depends on seed and deck, not on the call.")
def test_parts(answer):
    """Any part is that part of the whole, and other seeds deal otherwise"""
    whole = dealt(answer, 3, 0, 60, 7, 5)
    for first, count in ((0, 1), (6, 2), (7, 7), (13, 20), (59, 1)):
        got = dealt(answer, 3, first, count, 7, 5)
        expect_same(got, whole[first : first + count].contiguous(), name="a part")
    other = dealt(answer, 4, 0, 60, 7, 5)
    expect(not torch.equal(other, whole), "seeds 3 and 4 deal the same cards")
    began = time.perf_counter()
    answer.deal(3, 70_000_000, 5, 7, 5)
    expect(
        time.perf_counter() - began < 5,
        "cards far into the sequence take seconds: decks before them are dealt too",
    )


@check(points=2, likely="shuffle every deck of every player; a rotation is no shuffle.")
def test_fair(answer):
    """Orders are equally likely, whatever the player and the deck"""
    got = dealt(answer, 11, 0, 3 * DECKS, 3, 2).reshape(DECKS, 3, 2)
    # 6 orders a player: pairs of first cards of two players are 9 cases, and so are
    # first cards of one player's deck and the next.
    orders = got[:, 0] * 3 + got[:, 1]
    for player in range(2):
        for order in (1, 2, 3, 5, 6, 7):
            near((orders[:, player] == order).double().mean(), 1 / 6, "an order")
    for a in range(3):
        for b in range(3):
            both = (got[:, 0, 0] == a) & (got[:, 0, 1] == b)
            near(both.double().mean(), 1 / 9, "a pair of two players' first cards")
            after = (got[:-1, 0, 0] == a) & (got[1:, 0, 0] == b)
            near(after.double().mean(), 1 / 9, "a pair of two decks' first cards")


def near(share, want, name):
    """Within 5 standard deviations."""
    allowed = 5 * (want * (1 - want) / DECKS) ** 0.5
    expect(
        abs(share.item() - want) < allowed,
        f"{name} has the share {share:.3f}, expected {want:.3f} +- {allowed:.3f}",
    )


@check(points=1, likely="the largest share of one card, over all players, times cards.")
def test_uneven(answer):
    """How uneven a log is"""
    even = torch.arange(12)[:, None].expand(12, 3) % 4
    expect_same(answer.uneven(even.contiguous(), 4), 0.0, tolerance=1e-12)
    log = torch.tensor([[0, 1], [1, 1], [2, 1], [0, 0], [1, 2]])
    got = answer.uneven(log, 3)
    mistakes = {
        "players are averaged or taken together": 0.5,
        "1 is not taken off": 1.8,
    }
    expect_same(got, 0.8, tolerance=1e-12, mistakes=mistakes)
