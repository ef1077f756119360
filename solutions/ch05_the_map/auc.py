"""AUC: how well a number tells the rows with headroom from the others."""

import torch


def auc(score, label):
    """Return the chance that a positive row scores above a negative one.

    Over all pairs of a row with label True and a row with label False, count 1
    where the positive one has the larger score, 1/2 where both are equal, and
    take the mean. 1/2 is what a score without any information gets.

    There may be a hundred thousand rows of each kind: the pairs cannot be formed
    one by one.

    score: [n] float64; label: [n] bool
    Returns a float. Raises ValueError, with the word "label" in the message,
    where one of the two kinds is absent. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    positives, negatives = int(label.sum()), int((~label).sum())
    if not positives or not negatives:
        raise ValueError(
            f"label: {positives} positives and {negatives} negatives; need both"
        )
    # For each positive row, how many negative ones are below, and how many are
    # not above? Sorted, both are binary searches, n log n in all, and their mean
    # counts equal scores by one half.
    others = score[~label].sort().values
    below = torch.searchsorted(others, score[label].contiguous(), right=False)
    not_above = torch.searchsorted(others, score[label].contiguous(), right=True)
    # In float64 from here: 1e5 times 1e5 pairs are more than float32 can count.
    wins = (below + not_above).double().sum().item() / 2
    return wins / (positives * negatives)
    # END SOLUTION


def which_predicts(scores, label):
    """Return the score that tells best, its AUC, and whether it points down.

    A score that is low where the label is True tells as much as one that is
    high there: with an AUC of .1 it would be at .9 with its sign changed. So the
    distance of the AUC from 1/2 decides. Distances within 1e-12 are equal, and of
    equal ones the first counts.

    scores: [m, n] float64, one score a line; label: [n] bool
    Returns (index, auc, down): an int; the AUC after the sign is changed where
    need be, a float of at least 1/2; and True where it was changed. The arguments
    stay as they are.
    """
    # BEGIN SOLUTION
    # Changing the sign turns every pair round, and a tie stays a tie: the AUC
    # becomes 1 minus the AUC exactly.
    values = [auc(score, label) for score in scores]
    distances = [abs(value - 0.5) for value in values]
    best = next(i for i, x in enumerate(distances) if x >= max(distances) - 1e-12)
    return best, max(values[best], 1 - values[best]), values[best] < 0.5
    # END SOLUTION
