"""How many bytes a key-value cache takes."""


def kv_bytes(layers, kv_heads, head_dim, tokens, batch=1, bytes_per_element=2):
    """Return the bytes of a full key-value cache, an int.

    Every layer holds a key and a value of head_dim numbers for each key-value
    head, token and sequence of the batch.

    Raises ValueError, naming the argument, when layers, kv_heads, head_dim,
    batch or bytes_per_element is below 1 or tokens is below 0.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch01/kv_bytes is not solved yet: read chapter 01, "
        "edit exercises/ch01_cache_byte_by_byte/kv_bytes.py, "
        "then run: kvteach grade ch01/kv_bytes"
    )


def kv_bytes_of_config(config, tokens, batch=1, bytes_per_element=2):
    """Return the same from a model's configuration, as its config.json has it.

    config: a dict with num_hidden_layers, num_attention_heads and hidden_size.
    num_key_value_heads and head_dim may be there as well. Where the first is
    missing or None, every query head has a key-value head of its own; where the
    second is missing or None, the query heads divide hidden_size among them.
    """
    # Your code goes here, in place of the next lines.
    raise NotImplementedError(
        "ch01/kv_bytes is not solved yet: read chapter 01, "
        "edit exercises/ch01_cache_byte_by_byte/kv_bytes.py, "
        "then run: kvteach grade ch01/kv_bytes"
    )
