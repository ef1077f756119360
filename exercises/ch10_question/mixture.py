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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch10/mixture is not solved yet: read chapter 10, "
        "edit exercises/ch10_question/mixture.py, "
        "then run: kvteach grade ch10/mixture"
    )


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
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch10/mixture is not solved yet: read chapter 10, "
        "edit exercises/ch10_question/mixture.py, "
        "then run: kvteach grade ch10/mixture"
    )
