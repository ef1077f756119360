"""Branch and bound: the best set, proved, with most sets never looked at."""

import math

import numpy as np
import torch


def branch_and_bound(p, v, size):
    """Return the kept set with the least forced error, its error and the nodes.

    A node has some keys included and some excluded. If a bound shows that no set
    below it has an error below the best one found so far, it is closed; if not,
    one of its free keys is chosen, and the node splits into two: this key
    included, and this key excluded. The root has no key included or excluded.

    p: [S] float64, positive, summing to 1; v: [S, D] float64
    size: int, 1 <= size <= S

    Returns (indices, error, nodes): a tuple of ints in increasing order, a float
    and an int. nodes counts the nodes for which a bound or an error was
    computed, the root included, so trying every set would make it C(S, size) at
    least; on the rows of the checks it must stay below a tenth of that. Of
    several best sets any will do, and an error that is best up to 1e-9 of
    itself. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch04/branch_and_bound is not solved yet: read chapter 04, "
        "edit exercises/ch04_proof_over_all_keys/branch_and_bound.py, "
        "then run: kvteach grade ch04/branch_and_bound"
    )
