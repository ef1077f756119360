"""What a method holds, when, and which budget its rival may have for it."""


def peak_entries(counts_lk, length, scope):
    """Return the most entries, of all heads together, that exist while reading.

    The prompt passes through the layers in order. A layer that has been read holds
    all its K * length entries until it is compressed.

        "layer"   each layer is compressed before the next one is read, so beside the
                  layer in hand only what the earlier ones keep exists
        "model"   no layer is compressed before all have been read

    counts_lk: [L, K] int64, what each head keeps, 0 .. length; length: int

    Returns an int. Raises ValueError, with the word "scope" in the message, for any
    other scope. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/fair_budget is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/fair_budget.py, "
        "then run: kvteach grade ch07/fair_budget"
    )


def fair_entries(counts_lk, length, kind):
    """Return the uniform budget, in keys a head, that takes the same bytes.

    A rival that keeps equally many keys in every head of every layer gets as many as
    fit into what the method holds, rounded down:

        "masked"   every key of the prompt
        "padded"   in each layer every head as many as the layer's widest
        "ragged"   exactly what is kept

    Masks, offsets and positions are left out. counts_lk, length: as above

    Returns an int. Raises ValueError, with the word "kind" in the message, for any
    other kind. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/fair_budget is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/fair_budget.py, "
        "then run: kvteach grade ch07/fair_budget"
    )


def advantage(nats, rival_nats, counts_lk, length, kind):
    """Return what a method wins over a uniform rival, twice.

    First at the same nominal budget, the mean count of the method, rounded down;
    then at the same bytes, where the rival has `fair_entries`. Positive is better
    for the method.

    nats: float, its cross-entropy; rival_nats: the rival's, a list in which entry n
    belongs to n keys a head, from 0 to ``length``

    Returns (nominal, honest), floats. The arguments stay as they are.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch07/fair_budget is not solved yet: read chapter 07, "
        "edit exercises/ch07_what_is_held/fair_budget.py, "
        "then run: kvteach grade ch07/fair_budget"
    )
