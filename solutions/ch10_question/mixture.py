"""A window's vote is a mixture of question and document."""

import math


def mixed_vote(by_question_qs, by_document_ns, window):
    """Return the mean vote of the last ``window`` rows, and the question's share of it.

    The rows of the prompt are those of by_document_ns and then those of
    by_question_qs. The last ``window`` of them vote, whichever they are.

    by_question_qs: [q, S] float64, the weights that the q rows of the question give
    by_document_ns: [n, S] float64, those of the n rows before them
    window: int, 1 .. n + q

    Returns (vote, share): [S] float64 and a float. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    asked = min(window, len(by_question_qs))
    other = window - asked
    total = by_question_qs[len(by_question_qs) - asked :].sum(0)
    total = total + by_document_ns[len(by_document_ns) - other :].sum(0)
    return total / window, asked / window
    # END SOLUTION


def widest_window(wanted, rival, question):
    """Return the widest window in which the wanted key still outranks its rival.

    Both are pairs: the mean vote of the question's rows for that key, and the mean
    vote of document rows, the same however many there are. A window of ``question``
    rows or more is all of the question and as many document rows as are left.
    Outranks means a strictly higher vote.

    wanted, rival: (by question, by document), floats; question: int >= 1
    Returns an int; None where the wanted key outranks in every window, however wide; 0 where it
    does not even do so when the window is the question alone.
    """
    # BEGIN SOLUTION
    # Times the window: question * ahead - extra * behind > 0, extra document rows.
    ahead = wanted[0] - rival[0]
    behind = rival[1] - wanted[1]
    if ahead <= 0:
        return 0
    if behind <= 0:
        return None
    return question + math.ceil(question * ahead / behind) - 1
    # END SOLUTION
