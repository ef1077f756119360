"""What kept sets cost to hold: masked, padded, uniform, ragged."""


def held_bytes(counts_lk, length, head_dim, itemsize, kind):
    """Return the bytes of all keys and values, and of what says which they are.

    A key or a value of one head has ``head_dim`` numbers of ``itemsize`` bytes.

        "masked"    every key of the text, and one byte for each head and key: kept
                    or not
        "padded"    in each layer every head as many as the layer's widest head
        "uniform"   every head of the model as many as the widest of all
        "ragged"    exactly what is kept, and in each layer K + 1 offsets of 4 bytes

    counts_lk: [L, K] int64, the keys that each head keeps, 0 .. length
    length, head_dim, itemsize: ints

    Returns an int. Raises ValueError, with the word "kind" in the message, for any
    other kind. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    layers, heads = counts_lk.shape
    entry = 2 * head_dim * itemsize  # one key and one value
    if kind == "masked":
        return layers * heads * length * (entry + 1)
    if kind == "padded":
        return entry * heads * int(counts_lk.amax(1).sum())
    if kind == "uniform":
        return entry * heads * layers * int(counts_lk.max())
    if kind == "ragged":
        return entry * int(counts_lk.sum()) + layers * (heads + 1) * 4
    raise ValueError(f"kind: {kind!r}; need masked, padded, uniform or ragged")
    # END SOLUTION


def padding_waste(counts_lk):
    """Return which share of the padded keys and values is padding.

    Each layer is padded to its own widest head. The share lies between 0, all heads
    of each layer alike, and 1 - 1/K, one head of each layer keeping everything.

    counts_lk: [L, K] int64
    Returns a float, 0.0 where nothing is kept. The arguments stay as they are.
    """
    # BEGIN SOLUTION
    # Of all layers together: a mean over layers of their shares would let a layer
    # that holds ten keys count like one that holds a thousand.
    padded = counts_lk.shape[1] * int(counts_lk.amax(1).sum())
    return 1 - int(counts_lk.sum()) / padded if padded else 0.0
    # END SOLUTION
