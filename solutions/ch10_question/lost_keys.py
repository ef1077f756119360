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
    # BEGIN SOLUTION
    dropped = document + question - entries
    unsafe = max(question - forced, 0)
    # The borrowers may outrank every document key, as far as there are places, or none.
    saved = min(kernel // 2, unsafe, entries - forced)
    return min(unsafe - saved, dropped), min(unsafe, dropped)
    # END SOLUTION


def lost_by_head(kept_ks, question):
    """Return how many keys of the question every head has lost.

    The question is the last ``question`` keys of the prompt, possibly none.

    kept_ks: [K, S] bool; question: int, 0 <= question <= S
    Returns [K] int64. The argument stays as it is.
    """
    # BEGIN SOLUTION
    first = kept_ks.shape[1] - question
    return (~kept_ks[:, first:]).sum(1)
    # END SOLUTION
