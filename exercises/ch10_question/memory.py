"""What is held when the answer begins: evicted after the question, or before it."""


def keys_held(document, question, budget, boundary):
    """Return the keys that a head holds when the answer begins.

    budget: an int is keys a head; a float in (0, 1] is a share of the tokens that have
    been read when the eviction happens, rounded down, at least 1. No budget keeps more
    than has been read.

    boundary False: document and question are read, then keys are evicted.
    boundary True: keys are evicted where the document ends, then the question is read
    and kept whole.

    document, question: ints >= 1, numbers of tokens

    Returns an int. Raises ValueError, with the word "budget" in the message, for an int
    below 1 and for a float outside (0, 1].
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch10/memory is not solved yet: read chapter 10, "
        "edit exercises/ch10_question/memory.py, "
        "then run: kvteach grade ch10/memory"
    )


def memory_ratio(document, questions, budget):
    """Return the memory of the boundary run over that of the run after the question.

    The same document with one question after the other, each asked of a cache of its
    own. Everything that the one kind of run holds over everything that the other
    holds: sums, not a mean of ratios.

    questions: list of ints, tokens of each; document, budget: as above
    Returns a float.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch10/memory is not solved yet: read chapter 10, "
        "edit exercises/ch10_question/memory.py, "
        "then run: kvteach grade ch10/memory"
    )


def budget_at_equal_memory(document, question, budget):
    """Return the int budget with which the boundary run holds what the other one does.

    That is: evicting at the boundary with it and evicting after the question with
    ``budget`` end in the same number of keys. At the boundary at least one key stays.

    Returns an int. Raises ValueError, with the word "budget" in the message, where
    there is no such budget because the question alone is too much.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch10/memory is not solved yet: read chapter 10, "
        "edit exercises/ch10_question/memory.py, "
        "then run: kvteach grade ch10/memory"
    )
