"""How many bytes a key-value cache takes."""


def kv_bytes(layers, kv_heads, head_dim, tokens, batch=1, bytes_per_element=2):
    """Return the bytes of a full key-value cache, an int.

    Every layer holds a key and a value of head_dim numbers for each key-value
    head, token and sequence of the batch.

    Raises ValueError, naming the argument, when layers, kv_heads, head_dim,
    batch or bytes_per_element is below 1 or tokens is below 0.
    """
    # BEGIN SOLUTION
    at_least_one = {
        "layers": layers,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "batch": batch,
        "bytes_per_element": bytes_per_element,
    }
    for name, value in at_least_one.items():
        if value < 1:
            raise ValueError(f"{name}: {value} is below 1")
    if tokens < 0:
        raise ValueError(f"tokens: {tokens} is below 0")

    # The number of query heads is not here: only keys and values are kept, and
    # the heads of a group share them. The 2 is for keys and values.
    numbers = 2 * layers * kv_heads * head_dim * tokens * batch
    return numbers * bytes_per_element
    # END SOLUTION


def kv_bytes_of_config(config, tokens, batch=1, bytes_per_element=2):
    """Return the same from a model's configuration, as its config.json has it.

    config: a dict with num_hidden_layers, num_attention_heads and hidden_size.
    num_key_value_heads and head_dim may be there as well. Where the first is
    missing or None, every query head has a key-value head of its own; where the
    second is missing or None, the query heads divide hidden_size among them.
    """
    # BEGIN SOLUTION
    # get(name, default) would return a None that is written in the file, hence
    # the `or`. A head_dim that is given counts: some models have one that is not
    # hidden_size / heads, which a projection back to hidden_size permits.
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    layers = config["num_hidden_layers"]
    return kv_bytes(layers, kv_heads, head_dim, tokens, batch, bytes_per_element)
    # END SOLUTION
