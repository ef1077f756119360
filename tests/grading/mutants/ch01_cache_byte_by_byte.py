"""Wrong answers to the exercises of chapter 01."""

HEAD_MODULO = {  # query head h reads h % K: H splits into [R, K]
    "q = q_bhtd.reshape(B, K, H // K, T, D)": (
        "q = q_bhtd.reshape(B, H // K, K, T, D).transpose(1, 2)"
    ),
    "return output.reshape(B, H, T, D)": (
        "return output.transpose(1, 2).reshape(B, H, T, D)"
    ),
}

GROUPED_ATTENTION = {
    "h % K instead of h // R": HEAD_MODULO,
    "no causal mask": {'scores = scores.masked_fill(hidden, float("-inf"))': "pass"},
    "triangle aligned at the first row": {"arange(S - T, S, ": "arange(0, T, "},
    "the query's own position hidden": {
        "> position[:, None]": ">= position[:, None].clamp_min(1)"
    },
    "scores not scaled": {" / math.sqrt(D)": ""},
    "scores divided by D": {"/ math.sqrt(D)": "/ D"},
    "scale of the full width": {"math.sqrt(D)": "math.sqrt(H * D)"},
    "softmax over the queries": {"torch.softmax(scores, dim=-1)": (
        "torch.softmax(scores, dim=-2).nan_to_num()"
    )},
    "exp without the largest score": {"torch.softmax(scores, dim=-1)": (
        "(scores.exp() / scores.exp().sum(-1, keepdim=True))"
    )},
    "hidden scores set to 0": {'float("-inf")': "0.0"},
    "first sequence for all": {"return output": "return output[:1].expand(B, -1, -1, -1, -1)"},
    "heads not checked": {"if H % K:": "if False:"},
    "lengths not checked": {"if T > S:": "if False:"},
    "computed in bfloat16": {"q = q_bhtd.reshape": "q = q_bhtd.bfloat16().to(q_bhtd.dtype).reshape"},
    "query scaled in place": {"q = q_bhtd.reshape": "q = q_bhtd.mul_(1.0 + 1e-9).reshape"},
}  # fmt: skip

KV_BYTES = {
    "values forgotten": {"numbers = 2 * layers": "numbers = layers"},
    "batch forgotten": {"* tokens * batch": "* tokens"},
    "always two bytes": {"numbers * bytes_per_element": "numbers * 2"},
    "bits for bytes": {"numbers * bytes_per_element": "numbers * bytes_per_element * 8"},
    "query heads counted": {'config.get("num_key_value_heads") or heads': "heads"},
    "head_dim ignored": {'config.get("head_dim") or ': ""},
    "hidden size over key-value heads": {'config["hidden_size"] // heads': (
        'config["hidden_size"] // kv_heads'
    )},
    "None taken for a value": {'config.get("head_dim") or config["hidden_size"] // heads': (
        'config.get("head_dim", config["hidden_size"] // heads)'
    )},
    "missing heads not handled": {'config.get("num_key_value_heads") or heads': (
        'config["num_key_value_heads"]'
    )},
    "batch not passed on": {"tokens, batch, bytes_per_element)\n    #": (
        "tokens, 1, bytes_per_element)\n    #"
    )},
    "a float": {"return numbers *": "return 1.0 * numbers *"},
    "length 0 refused": {"if tokens < 0": "if tokens < 1"},
    "nothing refused": {"if value < 1:": "if False:"},
}  # fmt: skip

DECODE_STEP = {
    "h % K instead of h // R": {
        "q_bkrd = q_bhd.reshape(B, keys.shape[1], -1, D)": (
            "q_bkrd = q_bhd.reshape(B, -1, keys.shape[1], D).transpose(1, 2)"
        ),
        "(weights @ values).reshape": "(weights @ values).transpose(1, 2).reshape",
    },
    "the token does not see itself": {
        "@ keys.transpose(-1, -2)": "@ keys[:, :, :-1].transpose(-1, -2)",
        "(weights @ values)": "(weights @ values[:, :, :-1])",
    },
    "prepended": {
        "[keys_bksd, k_bkd[:, :, None]]": "[k_bkd[:, :, None], keys_bksd]",
        "[values_bksd, v_bkd[:, :, None]]": "[v_bkd[:, :, None], values_bksd]",
    },
    "keys and values in different order": {
        "[values_bksd, v_bkd[:, :, None]]": "[v_bkd[:, :, None], values_bksd]",
    },
    "scores not scaled": {" / math.sqrt(D)": ""},
    "the old cache returned": {", keys, values\n": ", keys_bksd, values_bksd\n"},
    "the last position overwritten": {
        "keys = torch.cat([keys_bksd, k_bkd[:, :, None]], dim=2)": (
            "keys = keys_bksd\n    keys[:, :, -1:] = k_bkd[:, :, None]"
        ),
    },
    "first sequence for all": {"(weights @ values)": (
        "(weights @ values)[:1].expand(B, -1, -1, -1)"
    )},
    "softmax over the group": {"math.sqrt(D), dim=-1)": "math.sqrt(D), dim=-2)"},
    "exp without the largest score": {
        "torch.softmax(": "(lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True))(",
    },
}  # fmt: skip

ROOFLINE = {
    "times added": {"max(moving, computing)": "moving + computing"},
    "shorter time": {"max(moving, computing)": "min(moving, computing)"},
    "bounds swapped": {'"memory" if moving >= computing else "compute"': (
        '"compute" if moving >= computing else "memory"'
    )},
    "a tie is compute": {"moving >= computing": "moving > computing"},
    "units swapped": {"bytes_moved / bandwidth, flop / peak": (
        "bytes_moved / peak, flop / bandwidth"
    )},
    "nothing refused": {"if bandwidth <= 0:": "if False:"},
    "negative peak accepted": {"if peak <= 0:": "if peak == 0:"},
    "cache left out": {"flop / peak - cache_bytes / bandwidth": "flop / peak"},
    "cache added": {"flop / peak - cache": "flop / peak + cache"},
    "rounded up": {"math.floor(": "math.ceil("},
    "a tie excluded": {"math.floor(weight_bytes / bandwidth / excess)": (
        "math.ceil(weight_bytes / bandwidth / excess) - 1"
    )},
    "weights read for each sequence": {"- cache_bytes / bandwidth": (
        "- (weight_bytes + cache_bytes) / bandwidth"
    )},
    "infinity for None": {"return None": 'return float("inf")'},
    "a tie has a largest batch": {"if excess <= 0:": "if excess < 0:"},
    "at least one": {"math.floor(weight_bytes / bandwidth / excess)": (
        "max(1, math.floor(weight_bytes / bandwidth / excess))"
    )},
}  # fmt: skip

MUTANTS = {
    "grouped_attention": GROUPED_ATTENTION,
    "kv_bytes": KV_BYTES,
    "decode_step": DECODE_STEP,
    "roofline": ROOFLINE,
}
