"""What a difference is made of: who ranks, and when it is evicted."""

import torch


def by_document(score_qc, document_q):
    """Return the three changes of the hit rate of every document, in points.

    The columns of score_qc are the conditions visible, document and after; a row is a
    question. NaN says that a question has no score in a condition. Only questions with
    all three scores count, so that every change compares the same ones; a document
    without any does not count either. Of a document, the mean over its questions:

        ranking   document - visible
        timing    after - document
        total     after - visible

    score_qc: [n, 3] float64, 0 to 1; document_q: [n] int64, which document, any numbers

    Returns [d, 3] float64, times 100, documents in ascending order of their numbers.
    Raises ValueError, with the word "score_qc" in the message, where no question has
    all three. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    whole = ~score_qc.isnan().any(1)
    if not whole.any():
        raise ValueError("score_qc: no question has a score in all three conditions")
    visible, document, after = 100 * score_qc[whole].T
    step_qs = torch.stack([document - visible, after - document, after - visible], 1)
    _, place = document_q[whole].unique(return_inverse=True)
    count = place.bincount()
    total = torch.zeros(len(count), 3, dtype=torch.float64)
    return total.index_add_(0, place, step_qs) / count[:, None]
    # END SOLUTION


def changes(score_qc, document_q):
    """Return the three changes of the hit rate, every document weighing the same.

    A document with eight questions is no more independent than one with two.
    Returns [3] float64: ranking, timing, total. All else as in `by_document`.
    """
    # BEGIN SOLUTION
    return by_document(score_qc, document_q).mean(0)
    # END SOLUTION


def interval(score_qc, document_q, draws_bd):
    """Return the 95% interval of each change, from documents drawn anew.

    A line of draws_bd says which documents one resample consists of, by their place in
    `by_document`; one may occur several times. A resample's change is the mean over
    its documents. The interval goes from the 2.5% to the 97.5% quantile over
    resamples, as torch.quantile has it.

    draws_bd: [B, d] int64; others as above
    Returns [3, 2] float64, lines as in `changes`, low and high. The arguments stay as
    they are.
    """
    # BEGIN SOLUTION
    # Paired: a resample takes all three changes of the same documents, so ranking and
    # timing sum to total inside it. Their quantiles need not.
    mean_bs = by_document(score_qc, document_q)[draws_bd].mean(1)
    ends = torch.tensor([0.025, 0.975], dtype=torch.float64)
    return torch.quantile(mean_bs, ends, dim=0).T
    # END SOLUTION
