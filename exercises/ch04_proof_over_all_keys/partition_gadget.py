"""Why the problem is hard: a row whose best set solves a number puzzle."""

import itertools

import torch


def gadget(numbers):
    """Return a row whose best set of half its keys halves the numbers, if one can.

    The puzzle: can m integers, m even, be split into two halves of m / 2 numbers
    each with the same sum? Give every number a key with the weight 1 / m and the
    number as its value. Then for every set A of m / 2 keys, with W the sum of
    all numbers,

        e_s(A) = |2 sum_{j in A} w_j - W| / m ,

    which is 0 exactly if A is such a half.

    numbers: a list of m ints, m even and at least 2

    Returns (p, v, size): [m] float64, [m, 1] float64 and an int. Raises
    ValueError, with the word "numbers" in the message, for another length.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch04/partition_gadget is not solved yet: read chapter 04, "
        "edit exercises/ch04_proof_over_all_keys/partition_gadget.py, "
        "then run: kvteach grade ch04/partition_gadget"
    )


def is_half(error, numbers):
    """Return whether the least error of the gadget means that a half exists.

    error: float, the least error over all sets of m / 2 keys, computed in
    float64 and so never exactly right; numbers: the list given to `gadget`, with
    integers up to 2^44 in size

    Returns a bool.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch04/partition_gadget is not solved yet: read chapter 04, "
        "edit exercises/ch04_proof_over_all_keys/partition_gadget.py, "
        "then run: kvteach grade ch04/partition_gadget"
    )


def split(numbers):
    """Return indices whose numbers make exactly half of the sum, or None.

    Here the two parts need not have equally many numbers, and any number of
    integers is allowed: zeros, which change no sum, fill up the smaller part. Of
    several answers any will do; the empty tuple answers for numbers that sum to
    0, for example.

    numbers: a list of n ints, n from 1 to 7

    Returns a tuple of ints in increasing order, indices into ``numbers``, or
    None where there is no such part. Uses the gadget and a search over its sets.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch04/partition_gadget is not solved yet: read chapter 04, "
        "edit exercises/ch04_proof_over_all_keys/partition_gadget.py, "
        "then run: kvteach grade ch04/partition_gadget"
    )
