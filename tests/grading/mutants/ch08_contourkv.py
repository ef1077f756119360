"""Wrong answers to the exercises of chapter 08."""

THRESHOLD = {
    "equally many in every cell": {
        "    return kept.reshape(length, cells).T, by_position[order[-1]].item()": (
            "    each = score_cs.argsort(dim=1, descending=True, stable=True)\n"
            "    kept = torch.zeros_like(score_cs, dtype=torch.bool)\n"
            "    kept.scatter_(1, each[:, : total // cells], True)\n"
            "    return kept, score_cs[kept].min().item() if kept.any() else 0.0"
        ),
    },
    "cell by cell": {
        "score_cs.T.reshape(-1)": "score_cs.reshape(-1)",
        "kept.reshape(length, cells).T": "kept.reshape(cells, length)",
    },
    "all at the threshold": {"return kept.reshape(length, cells).T, ": (
        "return score_cs >= by_position[order[-1]], "
    )},
    "none at the threshold": {"return kept.reshape(length, cells).T, ": (
        "return score_cs > by_position[order[-1]], "
    )},
    "ascending": {"argsort(descending=True, stable=True)": "argsort(stable=True)"},
    "not stable": {"by_position.argsort(descending=True, stable=True)[:total]": (
        "by_position.flip(0).argsort(descending=True, stable=True)[:total].neg() "
        "+ cells * length - 1"
    )},
    "topk": {"by_position.argsort(descending=True, stable=True)[:total]": (
        "by_position.topk(total).indices"
    )},
    "the highest dropped score": {"by_position[order[-1]].item()": (
        "by_position.sort(descending=True).values[min(total, cells * length - 1)].item()"
    )},
    "not transposed back": {"kept.reshape(length, cells).T": "kept.reshape(cells, length)"},
    "tau a tensor": {"by_position[order[-1]].item()": "by_position[order[-1]]"},
    "the highest score": {"by_position[order[-1]].item()": "by_position[order[0]].item()"},
    "one key too few": {"[:total]": "[: max(total - 1, 1)]"},
    "any total": {"if not 1 <= total <= cells * length:": "if False:",
                  "[:total]": "[: max(1, total)]"},
    "nothing kept": {"if not 1 <= total <= cells * length:": "if total > cells * length:",
                     "[:total]": "[: max(1, total)]"},
    "more than all": {"if not 1 <= total <= cells * length:": "if total < 1:"},
    "a price for each cell": {"return bool(bought.min() >= dropped.max())": (
        "return all(\n"
        "        not (k & ~f).any() or k.all() or bool(s[k & ~f].min() >= s[~k].max())\n"
        "        for s, k, f in zip(score_cs, kept_cs, floor_cs)\n"
        "    )"
    )},
    "no ties": {"bought.min() >= dropped.max()": "bought.min() > dropped.max()"},
    "the floor must pay": {"score_cs[kept_cs & ~floor_cs]": "score_cs[kept_cs]"},
    "the means": {"bought.min() >= dropped.max()": "bought.mean() >= dropped.mean()"},
    "any kept above any dropped": {"bought.min() >= dropped.max()": "bought.max() >= dropped.min()"},
    "nothing dropped is no price": {"        return True": "        return False"},
    "a tensor": {"return bool(bought.min() >= dropped.max())": "return bought.min() >= dropped.max()"},
}  # fmt: skip

RECENCY_FLOOR = {
    "always inside": {"entries if inside else entries + floor": "entries"},
    "always outside": {"entries if inside else entries + floor": "entries + floor"},
    "the other way round": {"entries if inside else": "entries if not inside else"},
    "the first keys": {"score_cs[:, length - floor :] = torch.inf": "score_cs[:, :floor] = torch.inf"},
    "no floor": {"score_cs[:, length - floor :] = torch.inf": "pass"},
    "the last key only": {"score_cs[:, length - floor :]": "score_cs[:, -1:]"},
    "a floor of 0 is everything": {"score_cs[:, length - floor :]": "score_cs[:, -floor:]"},
    "ones on the floor": {"= torch.inf": "= 1.0"},
    "the argument changed": {"score_cs = score_cs.clone()": "score_cs = score_cs"},
    "cell by cell": {
        "score_cs.T.reshape(-1)": "score_cs.reshape(-1)",
        "kept.reshape(length, cells).T": "kept.reshape(cells, length)",
    },
    "equally many in every cell": {
        "    return kept.reshape(length, cells).T": (
            "    each = score_cs.argsort(dim=1, descending=True, stable=True)\n"
            "    kept = torch.zeros_like(score_cs, dtype=torch.bool)\n"
            "    return kept.scatter(1, each[:, :mean], True)"
        ),
    },
    "topk": {"by_position.argsort(descending=True, stable=True)[: cells * mean]": (
        "by_position.flip(0).argsort(descending=True, stable=True)[: cells * mean].neg() "
        "+ cells * length - 1"
    )},
    "a threshold, ties and all": {"    return kept.reshape(length, cells).T": (
        "    return score_cs >= (by_position[order[-1]] if len(order) else torch.inf)"
    )},
    "a text shorter than the floor": {"    floor = min(floor, length)\n": ""},
    "floors that don't fit": {"if inside and entries < floor:": "if False:"},
    "never below the floor": {"if inside and entries < floor:": "if entries < floor:"},
    "the floor must be smaller": {"if inside and entries < floor:": "if inside and entries <= floor:"},
    "at most the text": {"if inside and entries < floor:": (
        "if inside and entries > length:\n        raise ValueError('entries')\n"
        "    if inside and entries < floor:"
    )},
    "a floor of 0 leaves nothing": {"kept_cs[:, :before]": "kept_cs[:, :-floor]"},
    "a sum": {" / len(kept_cs)": " / 1"},
    "a share": {" / len(kept_cs)": " / kept_cs.numel()"},
    "the floor itself": {"kept_cs[:, :before]": "kept_cs[:, before:]"},
    "all less the floor": {"return kept_cs[:, :before].sum().item() / len(kept_cs)": (
        "return kept_cs.sum().item() / len(kept_cs) - floor"
    )},
}  # fmt: skip

HELD_BYTES = {
    "keys only": {"2 * head_dim * itemsize": "head_dim * itemsize"},
    "2 bytes": {"2 * head_dim * itemsize": "2 * head_dim * 2"},
    "the mask is free": {"(entry + 1)": "entry"},
    "a mask of numbers": {"(entry + 1)": "(entry + itemsize)"},
    "a mask of bits": {"layers * heads * length * (entry + 1)": (
        "layers * heads * length * entry + layers * heads * length // 8"
    )},
    "one mask for a layer": {"layers * heads * length * (entry + 1)": (
        "layers * heads * length * entry + layers * length"
    )},
    "masked frees": {"layers * heads * length * (entry + 1)": "int(counts_lk.sum()) * (entry + 1)"},
    "padded to the model's widest": {"entry * heads * int(counts_lk.amax(1).sum())": (
        "entry * heads * layers * int(counts_lk.max())"
    )},
    "padded heads, not layers": {"entry * heads * int(counts_lk.amax(1).sum())": (
        "entry * layers * int(counts_lk.amax(0).sum())"
    )},
    "the widest once": {"entry * heads * int(counts_lk.amax(1).sum())": (
        "entry * int(counts_lk.amax(1).sum())"
    )},
    "padding is free": {"entry * heads * int(counts_lk.amax(1).sum())": "entry * int(counts_lk.sum())"},
    "uniform at the mean": {"entry * heads * layers * int(counts_lk.max())": (
        "entry * int(counts_lk.sum())"
    )},
    "uniform by layer": {"entry * heads * layers * int(counts_lk.max())": (
        "entry * heads * int(counts_lk.amax(1).sum())"
    )},
    "no offsets": {" + layers * (heads + 1) * 4": ""},
    "K offsets": {"layers * (heads + 1) * 4": "layers * heads * 4"},
    "one list of offsets": {"layers * (heads + 1) * 4": "(layers * heads + 1) * 4"},
    "offsets of 8 bytes": {"layers * (heads + 1) * 4": "layers * (heads + 1) * 8"},
    "any kind": {'raise ValueError(f"kind: {kind!r}; need masked, padded, uniform or ragged")': (
        "return entry * int(counts_lk.sum())"
    )},
    "the used share": {"return 1 - int(counts_lk.sum()) / padded": "return int(counts_lk.sum()) / padded"},
    "a mean over layers": {"return 1 - int(counts_lk.sum()) / padded": (
        "return (1 - counts_lk.double().mean(1) / counts_lk.amax(1).clamp_min(1)).mean().item()"
    )},
    "the model's widest": {"padded = counts_lk.shape[1] * int(counts_lk.amax(1).sum())": (
        "padded = counts_lk.numel() * int(counts_lk.max())"
    )},
    "0 / 0": {" if padded else 0.0": ""},
    "a ratio": {"1 - int(counts_lk.sum()) / padded": "padded / int(counts_lk.sum())"},
    "over what is kept": {"1 - int(counts_lk.sum()) / padded": (
        "padded / max(int(counts_lk.sum()), 1) - 1"
    )},
}  # fmt: skip

CAPPED = {
    "one ranking": {
        "    return torch.zeros_like(score_cs, dtype=torch.bool).scatter(1, order, True)": (
            "    total = len(score_cs) * min(entries, length)\n"
            "    best = score_cs.reshape(-1).argsort(descending=True, stable=True)[:total]\n"
            "    kept = torch.zeros(score_cs.numel(), dtype=torch.bool)\n"
            "    kept[best] = True\n"
            "    return kept.reshape(score_cs.shape)"
        ),
    },
    "the floor on top": {"[:, :entries]": "[:, : entries + floor]"},
    "no floor": {"score_cs[:, length - floor :] = torch.inf": "pass"},
    "the first keys": {"score_cs[:, length - floor :] = torch.inf": "score_cs[:, :floor] = torch.inf"},
    "a floor of 0 is everything": {"score_cs[:, length - floor :]": "score_cs[:, -floor:]"},
    "the lowest": {"descending=True, stable=True": "stable=True"},
    "the later of equals": {
        "score_cs.argsort(dim=1, descending=True, stable=True)[:, :entries]": (
            "length - 1 - score_cs.flip(1).argsort(dim=1, descending=True, stable=True)"
            "[:, :entries]"
        ),
    },
    "a threshold for each cell": {
        "    return torch.zeros_like(score_cs, dtype=torch.bool).scatter(1, order, True)": (
            "    return score_cs >= score_cs.gather(1, order).amin(1, keepdim=True)"
        ),
    },
    "the argument changed": {"score_cs = score_cs.clone()": "score_cs = score_cs"},
    "a text shorter than the floor": {"    floor = min(floor, length)\n": ""},
    "floors that don't fit": {"if entries < floor:": "if False:"},
    "the floor must be smaller": {"if entries < floor:": "if entries <= floor:"},
    "a text shorter than the budget": {"if entries < floor:": "if entries < floor or entries > length:"},
    "the floor takes part": {"before = score_cs.shape[1] - floor": "before = score_cs.shape[1]"},
    "masks as numbers": {
        "outside[contour_cs[:, :before]].sum()": (
            "(score_cs * contour_cs)[:, :before].nansum()"
        ),
        "outside[capped_cs[:, :before]].sum()": (
            "(score_cs * capped_cs).sum() - (score_cs * capped_cs)[:, before:].sum()"
        ),
    },
    "the share that stays": {"return 1 - by_cap / by_contour": "return by_cap / by_contour"},
    "a difference": {"return 1 - by_cap / by_contour": "return by_contour - by_cap"},
    "over the capped": {"return 1 - by_cap / by_contour": "return by_contour / max(by_cap, 1e-300) - 1"},
    "keys for scores": {
        "outside[contour_cs[:, :before]].sum()": "contour_cs[:, :before].sum()",
        "outside[capped_cs[:, :before]].sum()": "(capped_cs & contour_cs)[:, :before].sum()",
    },
    "0 / 0": {" if by_contour > 0 else 0.0": ""},
    "all is lost where nothing is kept": {"else 0.0": "else 1.0"},
    "means for sums": {
        "outside[contour_cs[:, :before]].sum()": "outside[contour_cs[:, :before]].mean()",
        "outside[capped_cs[:, :before]].sum()": "outside[capped_cs[:, :before] & contour_cs[:, :before]].mean()",
    },
}  # fmt: skip

BY_LAYER = {
    "rounded down": {"    budget_l[first] += 1\n": ""},
    "rounded up": {"    budget_l[first] += 1\n    return budget_l": (
        "    return (total_l + heads - 1) // heads"
    )},
    "rounded": {"    budget_l[first] += 1\n    return budget_l": (
        "    return (total_l / heads).round().long()"
    )},
    "to the first layers": {"left_l.argsort(descending=True, stable=True)": (
        "(left_l > 0).int().argsort(descending=True, stable=True)"
    )},
    "to the largest layers": {"left_l.argsort(descending=True, stable=True)": (
        "total_l.argsort(descending=True, stable=True)"
    )},
    "to the smallest fractions": {"left_l.argsort(descending=True, stable=True)": (
        "left_l.argsort(stable=True)"
    )},
    "ties to the later": {"left_l.argsort(descending=True, stable=True)": (
        "(len(left_l) - 1 - left_l.flip(0).argsort(descending=True, stable=True))"
    )},
    "fractions as numbers": {"left_l.argsort(descending=True, stable=True)": (
        "(total_l.float() / heads - (total_l // heads).float())"
        ".argsort(descending=True, stable=True)"
    )},
    "all to one layer": {"    budget_l[first] += 1\n": "    budget_l[first[:1]] += extra\n"},
    "one too many": {"[:extra]": "[: extra + 1]"},
    "the widest head": {"    budget_l[first] += 1\n    return budget_l": (
        "    return counts_lk.amax(1)"
    )},
    "sums": {"    budget_l[first] += 1\n    return budget_l": "    return total_l"},
    "the argument changed": {"total_l = counts_lk.sum(1)": (
        "total_l = counts_lk.sum(1)\n    counts_lk += 0 * counts_lk + 1"
    )},
    "each head its own": {"layer_budgets(counts_lk)[:, None, None]": "counts_lk[:, :, None]"},
    "the order for the ranks": {"order.argsort(dim=2) <": "order <"},
    "not stable": {"order = score_lks.argsort(dim=2, descending=True, stable=True)": (
        "order = score_lks.shape[2] - 1 - score_lks.flip(2)"
        ".argsort(dim=2, descending=True, stable=True)"
    )},
    "the lowest": {"order = score_lks.argsort(dim=2, descending=True, stable=True)": (
        "order = score_lks.argsort(dim=2, stable=True)"
    )},
    "one key more": {"order.argsort(dim=2) <": "order.argsort(dim=2) <="},
    "the model's mean": {"layer_budgets(counts_lk)[:, None, None]": (
        "layer_budgets(counts_lk).double().mean()"
    )},
    "a layer's best together": {"return order.argsort(dim=2) < layer_budgets(counts_lk)[:, None, None]": (
        "n, k, s = score_lks.shape\n"
        "    rank = score_lks.transpose(1, 2).reshape(n, -1)"
        ".argsort(dim=1, descending=True, stable=True).argsort(dim=1)\n"
        "    kept = rank < k * layer_budgets(counts_lk)[:, None]\n"
        "    return kept.reshape(n, s, k).transpose(1, 2)"
    )},
}  # fmt: skip

MUTANTS = {
    "threshold": THRESHOLD,
    "recency_floor": RECENCY_FLOOR,
    "held_bytes": HELD_BYTES,
    "capped": CAPPED,
    "by_layer": BY_LAYER,
}
