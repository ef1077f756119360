"""The question's own keys, when rows of the document rank them."""


def loss_bounds(document, question, entries, forced, kernel):
    """Return how many of the question's keys a head loses, at least and at most.

    Only rows of the document vote. They give every document key a positive score and
    every key of the question 0. Then scores are pooled over ``kernel`` keys, a
    key and its neighbours on both sides, which lends the first kernel // 2 keys of
    the question a positive score of unknown size. The last ``forced`` keys of the
    prompt stay, and the best of the others, until ``entries`` are kept. Every key of
    score 0 ranks below every positive one.

    document, question: ints >= 1, the numbers of their tokens, document before question
    entries, forced: ints, 1 <= forced <= entries <= document + question
    kernel: odd int >= 1, kernel // 2 <= document

    Returns (least, most), two ints: the tightest bounds that follow. The budget may
    be so large that hardly anything goes.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch10/lost_keys is not solved yet: read chapter 10, "
        "edit exercises/ch10_question/lost_keys.py, "
        "then run: kvteach grade ch10/lost_keys"
    )


def lost_by_head(kept_ks, question):
    """Return how many keys of the question every head has lost.

    The question is the last ``question`` keys of the prompt, possibly none.

    kept_ks: [K, S] bool; question: int, 0 <= question <= S
    Returns [K] int64. The argument stays as it is.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch10/lost_keys is not solved yet: read chapter 10, "
        "edit exercises/ch10_question/lost_keys.py, "
        "then run: kvteach grade ch10/lost_keys"
    )
