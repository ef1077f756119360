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
    # BEGIN SOLUTION
    score = (weight_r * needle_r).sum().item()
    return int(1 / score + 1e-9) if score > 0 else None
    # END SOLUTION


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
    # BEGIN SOLUTION
    # Each rival page needs the total ``weight``, from whatever heads: kept * weight out
    # of the heads * 1 - weight that is left.
    if weight * (kept + 1) > heads + 1e-9:
        raise ValueError(
            f"weight: {weight}; the mean of {heads} heads keeps it on {kept} pages"
        )
    left = [1.0 - weight] + [1.0] * (heads - 1)
    rows = torch.zeros(heads, length, dtype=torch.float64)
    rows[0, needle] = weight
    rivals = [first for first in range(0, length, page) if first // page != needle // page]
    head = 0
    for key in rivals[:kept]:
        wanted = weight
        while wanted > 1e-12 and head < heads:
            poured = min(wanted, left[head])
            rows[head, key] += poured
            left[head] -= poured
            wanted -= poured
            if left[head] <= 1e-12:
                head += 1
    # What nobody needed goes where it does no harm.
    rows[:, rivals[0]] += torch.tensor(left, dtype=torch.float64)
    return rows
    # END SOLUTION
