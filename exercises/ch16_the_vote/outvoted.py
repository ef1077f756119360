"""When a needle is certain to stay, and a group in which it is not."""

import torch


def certain_pages(weight_r, needle_r):
    """Return the smallest number of pages with which the needle is certain to stay.

    A group's rows are mixed with the votes weight_r, which sum to 1, and pages are
    ranked by their best key. Nothing is known but what each head gives to the needle: by
    it, at most so many pages can score as much as the needle's, its own among them. A
    quotient that is whole in mathematics may come out just below: add 1e-9.

    weight_r, needle_r: [R] float64, 0 to 1
    Returns an int; None where no number is enough.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/outvoted is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/outvoted.py, "
        "then run: kvteach grade ch16/outvoted"
    )


def outvoted(heads, length, page, kept, needle, weight):
    """Return a group of rows in which the mean of the heads loses the needle.

    Head 0 gives ``weight`` to the key ``needle``, the others give it nothing. All rows
    are distributions: no number below 0, each sums to 1. Lost means that at least
    ``kept`` pages other than the needle's have a key whose mean over the heads is at
    least the needle's.

    heads >= 2; length tokens in pages of ``page``, the last may be short, and there are
    more than ``kept`` pages; 0 <= needle < length; 0 < weight <= 1; kept >= 1

    Returns [heads, length] float64; any such group. Raises ValueError, with the word
    "weight" in the message, where there is none.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch16/outvoted is not solved yet: read chapter 16, "
        "edit exercises/ch16_the_vote/outvoted.py, "
        "then run: kvteach grade ch16/outvoted"
    )
