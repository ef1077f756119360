"""However many features a memory has, few numbers hold it."""

import math

import torch


def read(query_xd, phi_fd, moments_de, squares_dd):
    """Return m(q) of every query without any tensor that holds M = Phi C.

    With C = sum w_i k_i v_i' and Q = sum w_i k_i k_i' of the evicted keys and their
    weights, features phi(x) = Phi x, and the squares of a vector meant entry by entry,

        m(q) = phi(q)' M / sqrt(phi(q)^2 . b),   M = sum w_i phi(k_i) v_i',
                                                 b = sum w_i phi(k_i)^2

    query_xd: [X, D]; phi_fd: [F, D]; moments_de: C, [D, E]; squares_dd: Q, [D, D];
    all float64. No query is orthogonal to all that was written.

    Returns [X, E] float64. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/small_storage is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/small_storage.py, "
        "then run: kvteach grade ch14/small_storage"
    )


def numbers(features, width, value):
    """Return how many numbers suffice to hold the memory of one head, for any content.

    What is learned, Phi, is not counted. M may be held as it is or through C, and b as
    it is or through Q, of which equal entries are held once. Whatever is less.

    features: F, width: D of a key, value: E of a value; ints >= 1
    Returns an int.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/small_storage is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/small_storage.py, "
        "then run: kvteach grade ch14/small_storage"
    )


def keys_worth(features, width, value):
    """Return how many keys, with their values, must be given up for such a memory.

    The smallest whole number of them whose numbers are enough. Returns an int.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch14/small_storage is not solved yet: read chapter 14, "
        "edit exercises/ch14_memory/small_storage.py, "
        "then run: kvteach grade ch14/small_storage"
    )
