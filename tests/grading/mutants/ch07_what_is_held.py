"""Wrong answers to the exercises of chapter 07."""

PACK_RAGGED = {
    "in order of time, heads mixed": {"return keys_bksd[kept_bks], positions": (
        "return keys_bksd.transpose(1, 2)[kept_bks.transpose(1, 2)], positions"
    )},
    "by sequence inside a head": {"return keys_bksd[kept_bks], positions": (
        "return keys_bksd.transpose(0, 1)[kept_bks.transpose(0, 1)], positions"
    )},
    "counts for offsets": {"kept_bks.sum(-1).flatten().cumsum(0)": "kept_bks.sum(-1).flatten()"},
    "starts only": {"positions[kept_bks], offsets": "positions[kept_bks], offsets[:-1]"},
    "ends only": {"positions[kept_bks], offsets": "positions[kept_bks], offsets[1:]"},
    "offsets of sequences": {"offsets[1:] = kept_bks.sum(-1).flatten().cumsum(0)": (
        "offsets = torch.zeros(len(kept_bks) + 1, dtype=torch.int32)\n"
        "    offsets[1:] = kept_bks.sum((1, 2)).cumsum(0)"
    )},
    "offsets start anew in each sequence": {"kept_bks.sum(-1).flatten().cumsum(0)": (
        "kept_bks.sum(-1).cumsum(1).flatten()"
    )},
    "int64 offsets": {"offsets = torch.zeros(kept_bks[..., 0].numel() + 1, dtype=torch.int32)": (
        "offsets = torch.zeros(kept_bks[..., 0].numel() + 1, dtype=torch.int64)"
    )},
    "positions in the flat list": {"positions[kept_bks], offsets": (
        "torch.arange(int(kept_bks.sum()), dtype=torch.int32), offsets"
    )},
    "int64 positions": {"torch.arange(length, dtype=torch.int32)": "torch.arange(length)"},
    "keys in float32": {"return keys_bksd[kept_bks], positions": "return keys_bksd[kept_bks].float(), positions"},
    "positions left out": {"return keys_bksd[kept_bks], positions[kept_bks], offsets": (
        "return keys_bksd[kept_bks], offsets"
    )},
    "what was evicted": {"return keys_bksd[kept_bks], positions": "return keys_bksd[~kept_bks], positions"},
    "the list to its end": {"used = len(offsets) - 1, int(offsets[-1])": "used = len(offsets) - 1, len(keys_nd)",
                            "repeat_interleave(offsets.diff().long())": (
                                "repeat_interleave(offsets.diff().long(), output_size=used)")},
    "one head too few": {"heads, used = len(offsets) - 1,": "heads, used = len(offsets) - 2,",
                         "repeat_interleave(offsets.diff().long())": "repeat_interleave(offsets.diff()[:-1].long())",
                         ":used]": ": int(offsets[-2])]"},
    "to the front, not to the position": {"place = owner_n, positions_n[:used].long()": (
        "place = owner_n, torch.arange(used) - offsets[owner_n].long()"
    )},
    "as many keys in every head": {"repeat_interleave(offsets.diff().long())": (
        "repeat_interleave(-(-used // heads))[:used]"
    )},
    "a mask of what is not 0": {"kept_hs[place] = True": "kept_hs = (keys_hsd != 0).any(-1) | True"},
    "the mask turned round": {"return keys_hsd, kept_hs": "return keys_hsd, ~kept_hs"},
    "unpacked in float32": {"keys_nd.new_zeros(heads": "torch.zeros(heads",
                            "= keys_nd[:used]": "= keys_nd[:used].float()",
                            "return keys_bksd[kept_bks], positions": (
                                "return keys_bksd[kept_bks].float(), positions")},
}  # fmt: skip

PADDED_GATHER = {
    "the newest first": {"(~kept_bks).to(torch.uint8).argsort(dim=-1, stable=True)": (
        "(kept_bks.shape[-1] - 1 - (~kept_bks).flip(-1).int().argsort(dim=-1, stable=True))"
    )},
    "sorted by anything": {"argsort(dim=-1, stable=True)": "argsort(dim=-1)"},
    "evicted first": {"(~kept_bks).to(torch.uint8)": "kept_bks.to(torch.uint8)"},
    "the width of the first head": {"int(lengths_bk.max())": "max(int(lengths_bk.flatten()[0]), 1)"},
    "the mean width": {"int(lengths_bk.max())": "int(lengths_bk.double().mean())"},
    "the whole length": {"int(lengths_bk.max())": "kept_bks.shape[-1]"},
    "a width of at least 1": {"int(lengths_bk.max())": "max(1, int(lengths_bk.max()))"},
    "evicted keys in the padding": {"keys_bkmd.masked_fill(padding[..., None], 0)": "keys_bkmd"},
    "a product with the mask": {"keys_bkmd.masked_fill(padding[..., None], 0)": (
        "keys_bkmd * ~padding[..., None]"
    )},
    "one zero too few": {"padding = torch.arange(widest) >= lengths_bk": (
        "padding = torch.arange(widest) > lengths_bk"
    )},
    "one key too few": {"padding = torch.arange(widest) >= lengths_bk": (
        "padding = torch.arange(widest) + 1 >= lengths_bk"
    )},
    "in the first head's order": {"order[..., None].expand(-1, -1, -1, keys_bksd.shape[-1])": (
        "order[:1, :1, :, None].expand(*order.shape, keys_bksd.shape[-1])"
    )},
    "keys in float32": {"return keys_bkmd.masked_fill(": "return keys_bkmd.float().masked_fill("},
    "a mask for lengths": {"0), lengths_bk": "0), ~padding"},
    "int32 lengths": {"0), lengths_bk": "0), lengths_bk.int()"},
    "padding with the logit 0": {"padding[:, :, None], -torch.inf": "padding[:, :, None], 0.0"},
    "padding not masked": {"logits = logits.masked_fill(padding[:, :, None], -torch.inf)": ""},
    "padding with a logit of -30": {"padding[:, :, None], -torch.inf": "padding[:, :, None], -30.0"},
    "masked after the softmax": {
        "logits = logits.masked_fill(padding[:, :, None], -torch.inf)": "",
        "logits.softmax(-1).nan_to_num(0.0)": "logits.softmax(-1).masked_fill(padding[:, :, None], 0.0)",
    },
    "nan where nothing is kept": {".nan_to_num(0.0)": ""},
    "not divided by the root": {" / dim**0.5": ""},
    "divided by D": {" / dim**0.5": " / dim"},
    "the length of the first head": {">= lengths_bk[..., None]\n    logits = logits": (
        ">= lengths_bk[:, :1, None].expand(*lengths_bk.shape, 1)\n    logits = logits"
    )},
    "the softmax over queries": {"logits.softmax(-1)": "logits.softmax(-2)"},
}  # fmt: skip

RAGGED_DECODE = {
    "h mod K": {
        "query_hd.to(wide).view(kv_heads, heads // kv_heads, dim)": (
            "query_hd.to(wide).view(heads // kv_heads, kv_heads, dim).transpose(0, 1)"
        ),
        "out_krd.view(heads, dim)": "out_krd.transpose(0, 1).reshape(heads, dim)",
    },
    "every head the first group": {"query_krd[k] @": "query_krd[0] @"},
    "the tail left out": {"torch.cat([keys_nd[start:stop], tail_keys_ktd[k]])": "keys_nd[start:stop]",
                          "torch.cat([values_nd[start:stop], tail_values_ktd[k]])": "values_nd[start:stop]"},
    "the prefix left out": {"torch.cat([keys_nd[start:stop], tail_keys_ktd[k]])": "tail_keys_ktd[k]",
                            "torch.cat([values_nd[start:stop], tail_values_ktd[k]])": "tail_values_ktd[k]"},
    "the tail of the first head": {"tail_keys_ktd[k]": "tail_keys_ktd[0]",
                                   "tail_values_ktd[k]": "tail_values_ktd[0]"},
    "two softmaxes added": {"out_krd[k] = weights @ values": (
        "n = stop - start\n"
        "        x = query_krd[k] @ keys.T / dim**0.5\n"
        "        out_krd[k] = x[:, :n].softmax(-1) @ values[:n] + x[:, n:].softmax(-1) @ values[n:]"
    )},
    "two softmaxes averaged": {"out_krd[k] = weights @ values": (
        "n = stop - start\n"
        "        x = query_krd[k] @ keys.T / dim**0.5\n"
        "        parts = [x[:, :n].softmax(-1) @ values[:n], x[:, n:].softmax(-1) @ values[n:]]\n"
        "        out_krd[k] = sum(parts) / 2 if n else parts[1]"
    )},
    "only the newest of the tail": {"tail_keys_ktd[k]": "tail_keys_ktd[k, -1:]",
                                    "tail_values_ktd[k]": "tail_values_ktd[k, -1:]"},
    "an empty prefix gives 0": {"out_krd[k] = weights @ values": (
        "out_krd[k] = weights @ values if stop > start else 0.0"
    )},
    "an empty prefix is left as it is": {"        keys = torch.cat(": (
        "        out_krd[k] = 0\n        if start == stop:\n            continue\n        keys = torch.cat("
    )},
    "the last head to the list's end": {"offsets[1:].tolist())": "[*offsets[1:-1].tolist(), len(keys_nd)])"},
    "heads alike": {"enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist()))": (
        "enumerate([(i * (int(offsets[-1]) // kv_heads), (i + 1) * (int(offsets[-1]) // kv_heads))"
        " for i in range(kv_heads)])"
    )},
    "not divided by the root": {" / dim**0.5": ""},
    "divided by D": {" / dim**0.5": " / dim"},
    "sums in the type of the query": {
        "wide = torch.float64 if query_hd.dtype == torch.float64 else torch.float32": "wide = query_hd.dtype",
    },
    "always float32": {"torch.float64 if query_hd.dtype == torch.float64 else torch.float32": "torch.float32"},
    "returned in float32": {".to(query_hd.dtype)": ".float()"},
    "weights rounded": {".softmax(-1)\n": ".softmax(-1).to(query_hd.dtype).to(wide)\n"},
    "logits rounded": {"(query_krd[k] @ keys.T / dim**0.5)": (
        "(query_krd[k] @ keys.T / dim**0.5).to(query_hd.dtype).to(wide)"
    )},
    "exp without the largest": {".softmax(-1)\n": ".exp()\n        weights = weights / weights.sum(-1, keepdim=True)\n"},
    "the tail once": {"(len(offsets) - 1) * tail": "tail"},
    "no tail": {" + (len(offsets) - 1) * tail": ""},
    "a tail for each offset": {"(len(offsets) - 1) * tail": "len(offsets) * tail"},
    "keys only": {"return 2 * head_dim": "return head_dim"},
}  # fmt: skip

MERGE_PARTIALS = {
    "the sum of exponentials": {"logits_xn.logsumexp(-1)": "logits_xn.exp().sum(-1)"},
    "the logarithm of the sum": {"logits_xn.logsumexp(-1)": "logits_xn.exp().sum(-1).log()"},
    "the largest logit": {"logits_xn.logsumexp(-1)": (
        "(logits_xn.max(-1).values if logits_xn.shape[1] else logits_xn.new_full((len(logits_xn),), -torch.inf))"
    )},
    "not divided": {"logits_xn.softmax(-1) @ values_nd": "logits_xn.exp() @ values_nd"},
    "exponentials divided": {"logits_xn.softmax(-1) @ values_nd": (
        "(logits_xn.exp() @ values_nd) / logits_xn.exp().sum(-1, keepdim=True).clamp_min(1e-300)"
    )},
    "a mean over no keys": {"logits_xn.softmax(-1) @ values_nd": (
        "(logits_xn.softmax(-1) @ values_nd) / logits_xn.softmax(-1).sum(-1, keepdim=True)"
    )},
    "an empty piece at 0": {"logits_xn.logsumexp(-1)": (
        "(logits_xn.logsumexp(-1) if logits_xn.shape[1] else logits_xn.new_zeros(len(logits_xn)))"
    )},
    "a mean of pieces": {"(weights_cx[..., None] * outs_cxd).sum(0)": "outs_cxd.mean(0)"},
    "a sum of pieces": {"(weights_cx[..., None] * outs_cxd).sum(0)": "outs_cxd.sum(0)"},
    "by lse": {"lses_cx.softmax(0).nan_to_num(0.0)": "(lses_cx / lses_cx.sum(0)).nan_to_num(0.0)"},
    "by exp(lse), as they are": {"lses_cx.softmax(0).nan_to_num(0.0)": (
        "(lses_cx.exp() / lses_cx.exp().sum(0)).nan_to_num(0.0)"
    )},
    "the largest piece only": {"weights_cx = lses_cx.softmax(0).nan_to_num(0.0)": (
        "weights_cx = (lses_cx == lses_cx.amax(0)).double()"
    )},
    "over the rows": {"lses_cx.softmax(0).nan_to_num(0.0)": "lses_cx.softmax(1).nan_to_num(0.0)"},
    "nan where all are empty": {".nan_to_num(0.0)": ""},
    "a guard with a number": {"lses_cx.softmax(0).nan_to_num(0.0)": "lses_cx.clamp_min(-1000).softmax(0)",
                              "lses_cx.logsumexp(0)": "lses_cx.clamp_min(-1000).logsumexp(0)"},
    "lses added": {"lses_cx.logsumexp(0)": "lses_cx.sum(0)"},
    "the largest lse": {"lses_cx.logsumexp(0)": "lses_cx.amax(0)"},
    "the mean of exponentials": {"lses_cx.logsumexp(0)": (
        "lses_cx.logsumexp(0) - torch.tensor(float(len(lses_cx))).double().log()"
    )},
    "log of sum of exp": {"lses_cx.logsumexp(0)": "lses_cx.exp().sum(0).log()"},
    "lse not returned": {"lses_cx.logsumexp(0)": "lses_cx"},
    "two pieces only": {"(weights_cx[..., None] * outs_cxd).sum(0)": (
        "(weights_cx[..., None] * outs_cxd)[:2].sum(0)"
    )},
}  # fmt: skip

APPEND_WITH_SLACK = {
    "no slack": {"return max(needed + needed // 4, length + least)": "return needed"},
    "a quarter only": {"return max(needed + needed // 4, length + least)": "return needed + needed // 4"},
    "the least only": {"return max(needed + needed // 4, length + least)": "return max(needed, length + least)"},
    "doubling": {"needed + needed // 4": "2 * needed"},
    "the least from 0": {"length + least)": "least)"},
    "the least beyond what is needed": {"length + least)": "needed + least)"},
    "a quarter of what was used": {"needed + needed // 4": "needed + length // 4"},
    "rounded up": {"needed + needed // 4": "needed - (-needed // 4)"},
    "the smaller of the two": {"return max(needed": "return min(needed"},
    "grown when it just fits": {"if length + new > buffer.shape[1]": "if length + new >= buffer.shape[1]"},
    "grown too late": {
        "if length + new > buffer.shape[1]": "if length >= buffer.shape[1]",
        "buffer[:, length : length + new] = chunk": (
            "buffer[:, length : length + new] = chunk[:, : buffer.shape[1] - length]"
        ),
    },
    "grown every time": {"if length + new > buffer.shape[1]:": "if True:"},
    "nothing carried over": {"            grown[:, :length] = buffer[:, :length]\n": ""},
    "carried to the wrong place": {"grown[:, :length] = buffer[:, :length]": (
        "grown[:, grown.shape[1] - length :] = buffer[:, :length]"
    )},
    "overwritten": {"        length += new": "        length = max(length, new)"},
    "the length of the room": {"return buffer, length, copied": "return buffer, buffer.shape[1], copied"},
    "without its room": {"return buffer, length, copied": "return buffer[:, :length], length, copied"},
    "the chunk counts": {"copied += length": "copied += length + new"},
    "the old room counts": {"copied += length": "copied += buffer.shape[1]"},
    "growths counted": {"copied += length": "copied += 1"},
    "every head counts": {"copied += length": "copied += heads * length"},
    "in float32": {"grown = chunk.new_zeros(heads, room(length, new, least), dim)": (
        "grown = torch.zeros(heads, room(length, new, least), dim)"
    )},
    "least left at 64": {"room(length, new, least), dim": "room(length, new, 64), dim"},
    "keys only": {"return 2 * heads": "return heads"},
    "one head": {"return 2 * heads *": "return 2 *"},
    "what is used": {"(width - length)": "length"},
    "float32 always": {"buffer_kmd.element_size()": "4"},
    "elements": {" * buffer_kmd.element_size()": ""},
}  # fmt: skip

FAIR_BUDGET = {
    "all compressed": {"counts_lk[:-1].sum()": "counts_lk.sum()"},
    "the layer in hand only": {"int(counts_lk[:-1].sum()) + heads * length": "heads * length"},
    "only what is kept": {"int(counts_lk[:-1].sum()) + heads * length": "int(counts_lk.sum())"},
    "one head in hand": {"+ heads * length": "+ length"},
    "the first layer is free": {"counts_lk[:-1].sum()": "counts_lk[1:].sum()"},
    "the widest layers": {"int(counts_lk[:-1].sum()) + heads * length": (
        "heads * int(counts_lk[:-1].amax(1).sum()) + heads * length"
    )},
    "both scopes whole": {'if scope != "layer":': (
        'if scope == "layer":\n        return layers * heads * length\n    if scope != "layer":'
    )},
    "both scopes by layer": {"return layers * heads * length": (
        "return int(counts_lk[:-1].sum()) + heads * length"
    )},
    "any scope": {'if scope != "layer":': "if False:"},
    "a tensor": {"int(counts_lk[:-1].sum())": "counts_lk[:-1].sum()"},
    "masks free memory": {"        return length\n": "        return int(counts_lk.sum()) // (layers * heads)\n"},
    "masks of all heads": {"        return length\n": "        return heads * length\n"},
    "the model's widest": {"int(counts_lk.amax(1).sum()) // layers": "int(counts_lk.max())"},
    "padding is free": {"int(counts_lk.amax(1).sum()) // layers": "int(counts_lk.sum()) // (layers * heads)"},
    "padded, rounded up": {"int(counts_lk.amax(1).sum()) // layers": "-(-int(counts_lk.amax(1).sum()) // layers)"},
    "the widest of each head": {"counts_lk.amax(1).sum()) // layers": "counts_lk.amax(0).sum()) // heads"},
    "ragged, rounded up": {"int(counts_lk.sum()) // (layers * heads)": "-(-int(counts_lk.sum()) // (layers * heads))"},
    "ragged, rounded by layer": {"int(counts_lk.sum()) // (layers * heads)": (
        "int((counts_lk.sum(1) // heads).sum()) // layers"
    )},
    "at least one key": {"int(counts_lk.sum()) // (layers * heads)": "max(1, int(counts_lk.sum()) // (layers * heads))"},
    "a total": {"int(counts_lk.sum()) // (layers * heads)": "int(counts_lk.sum())"},
    "any kind": {'if kind == "ragged":': "if True:"},
    "method minus rival": {"at_nominal - nats, at_bytes - nats": "nats - at_nominal, nats - at_bytes"},
    "twice the nominal": {"at_bytes = rival_nats[fair_entries(counts_lk, length, kind)]": "at_bytes = at_nominal"},
    "exchanged": {"at_nominal - nats, at_bytes - nats": "at_bytes - nats, at_nominal - nats"},
    "nominal by the padded width": {'rival_nats[fair_entries(counts_lk, length, "ragged")]': (
        'rival_nats[fair_entries(counts_lk, length, "padded")]'
    )},
    "the full cache for all": {"at_bytes = rival_nats[fair_entries(counts_lk, length, kind)]": "at_bytes = rival_nats[length]"},
}  # fmt: skip

MUTANTS = {
    "pack_ragged": PACK_RAGGED,
    "padded_gather": PADDED_GATHER,
    "ragged_decode": RAGGED_DECODE,
    "merge_partials": MERGE_PARTIALS,
    "append_with_slack": APPEND_WITH_SLACK,
    "fair_budget": FAIR_BUDGET,
}
