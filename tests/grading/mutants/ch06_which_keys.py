"""Wrong answers to the exercises of chapter 06."""

WINDOW_SCORES = {
    "kernels not refused": {"if kernel < 1 or kernel % 2 == 0:": "if False:",
                            "padding=kernel // 2\n": "padding=kernel // 2\n",
                            "votes, kernel, stride": "votes, max(kernel, 1) | 1, stride",
                            "padding=kernel // 2": "padding=(max(kernel, 1) | 1) // 2"},
    "even kernels accepted": {"kernel < 1 or kernel % 2 == 0": "kernel < 1",
                              "votes, kernel, stride": "votes, kernel | 1, stride",
                              "padding=kernel // 2": "padding=(kernel | 1) // 2"},
    "no causal mask": {"logits.masked_fill(future, -torch.inf).softmax(-1)": "logits.softmax(-1)"},
    "the mask of the first rows": {"torch.arange(length - window, length)[:, None]": "torch.arange(window)[:, None]",
                                   "-torch.inf).softmax(-1)": "-torch.inf).softmax(-1).nan_to_num()"},
    "a row does not see itself": {"torch.arange(length) > row": "torch.arange(length) >= row.clamp_min(1)"},
    "the window's keys outside the softmax": {
        "votes = weights[:, :, : length - window].mean(1)": (
            "votes = logits[:, :, : length - window].softmax(-1).mean(1)"
        ),
    },
    "no scaling": {" * scaling": ""},
    "a scaling of one's own": {" * scaling": " * queries_hwd.shape[2] ** -0.5"},
    "summed over rows": {": length - window].mean(1)": ": length - window].sum(1)"},
    "the last row alone": {": length - window].mean(1)": ": length - window][:, -1]"},
    "the largest of the rows": {": length - window].mean(1)": ": length - window].amax(1)"},
    "heads interleaved": {"keys_ksd.repeat_interleave(heads // kv_heads, 0)": "keys_ksd.repeat(heads // kv_heads, 1, 1)"},
    "groups interleaved": {"groups = pooled.view(kv_heads, heads // kv_heads, -1)": (
        "groups = pooled.view(heads // kv_heads, kv_heads, -1).transpose(0, 1)"
    )},
    "summed over heads": {"groups.mean(1)": "groups.sum(1)"},
    "the largest of the heads": {"groups.mean(1)": "groups.amax(1)"},
    "heads averaged before the pooling": {
        "pooled = torch.nn.functional.max_pool1d(\n            votes,": (
            "votes = votes.view(kv_heads, heads // kv_heads, -1).mean(1)"
            ".repeat_interleave(heads // kv_heads, 0)\n"
            "        pooled = torch.nn.functional.max_pool1d(\n            votes,"
        ),
    },
    "pooled by means": {"max_pool1d": "avg_pool1d"},
    "not pooled": {"groups = pooled.view": "groups = votes.view"},
    "pooled logits": {"weights = logits": (
        "logits = torch.nn.functional.max_pool1d(logits, kernel, stride=1, padding=kernel // 2)\n"
        "    weights = logits"
    )},
    "pooled with the window": {
        "votes = weights[:, :, : length - window].mean(1)": "votes = weights.mean(1)",
        "groups.mean(1)": "groups.mean(1)[:, : length - window]",
    },
    "the window may go": {"torch.full((kv_heads, length), torch.inf, dtype": "torch.full((kv_heads, length), 0.0, dtype"},
    "the window scores 1": {"torch.full((kv_heads, length), torch.inf, dtype": "torch.full((kv_heads, length), 1.0, dtype"},
    "exponentials by themselves": {"logits.masked_fill(future, -torch.inf).softmax(-1)": (
        "logits.exp() * ~future / (logits.exp() * ~future).sum(-1, keepdim=True)"
    )},
    "an empty part pooled": {"if length > window:": "if True:"},
}  # fmt: skip

RECEIVED_MASS = {
    "rows counted from 0": {"torch.arange(first, first + rows)": "torch.arange(rows)"},
    "no causal mask": {"logits.masked_fill(torch.arange(length) > row, -torch.inf)": "logits"},
    "a row does not see itself": {"torch.arange(length) > row": "torch.arange(length) >= row.clamp_min(1)"},
    "only keys of the tile": {"torch.arange(length) > row": "(torch.arange(length) > row) | (torch.arange(length) < first)"},
    "no scaling": {" * scaling": ""},
    "the old mass forgotten": {"mass_hs + logits": "logits"},
    "added in place": {"return mass_hs + logits.softmax(-1).sum(1)": "return mass_hs.add_(logits.softmax(-1).sum(1))"},
    "a mean over the tile": {"logits.softmax(-1).sum(1)": "logits.softmax(-1).mean(1)"},
    "a softmax over rows": {"logits.softmax(-1).sum(1)": "logits.softmax(1).sum(1)"},
    "columns for rows": {"logits.softmax(-1).sum(1)": "logits.softmax(-1).amax(1)"},
    "heads interleaved": {"keys_ksd.repeat_interleave(heads // kv_heads, 0)": "keys_ksd.repeat(heads // kv_heads, 1, 1)"},
    "the last tile left out": {"range(0, length, tile)": "range(0, length - tile + 1, tile)"},
    "a tile of its own size": {"range(0, length, tile)": "range(0, length, 256)"},
    "one row too few in a tile": {"first : first + tile]": "first : first + max(tile - 1, 1)]"},
    "heads summed": {".view(keys_ksd.shape[0], -1, length).mean(1)": ".view(keys_ksd.shape[0], -1, length).sum(1)"},
    "groups interleaved": {".view(keys_ksd.shape[0], -1, length).mean(1)": ".view(-1, keys_ksd.shape[0], length).mean(0)"},
    "divided by S": {"mass_ks / torch.arange(length, 0, -1)": "mass_ks / length"},
    "divided by the position": {"torch.arange(length, 0, -1)": "torch.arange(1, length + 1)"},
    "one row too few": {"torch.arange(length, 0, -1)": "torch.arange(length, 0, -1).sub(1).clamp_min(1)"},
    "normalised to 1": {"mass_ks / torch.arange(length, 0, -1)": "mass_ks / mass_ks.sum(-1, keepdim=True)"},
    "no recency": {"length - budget // 2": "length"},
    "only recency": {"length - budget // 2": "length - budget"},
    "the odd key to recency": {"budget // 2": "(budget + 1) // 2"},
    "counted twice": {"return kept.scatter(1, order[:, :budget], True)": (
        "order = mass_ks.argsort(dim=-1, descending=True, stable=True)\n"
        "    return kept.scatter(1, order[:, : budget - budget // 2], True) | recent"
    )},
    "the lightest": {"descending=True, stable": "descending=False, stable"},
    "later keys first": {"return kept.scatter(1, order[:, :budget], True)": (
        "flipped = mass_ks.masked_fill(recent, torch.inf).flip(-1)\n"
        "    order = length - 1 - flipped.argsort(dim=-1, descending=True, stable=True)\n"
        "    return kept.scatter(1, order[:, :budget], True)"
    )},
    "a threshold": {"return kept.scatter(1, order[:, :budget], True)": (
        "best = mass_ks.masked_fill(recent, torch.inf).gather(1, order)\n"
        "    return mass_ks.masked_fill(recent, torch.inf) >= best[:, max(budget - 1, 0)][:, None]"
    )},
}  # fmt: skip

KEY_SCORES = {
    "long keys": {"-wide.norm(dim=-1)": "wide.norm(dim=-1)"},
    "squared": {"-wide.norm(dim=-1)": "-wide.square().sum(-1)"},
    "relative to the longest": {"-wide.norm(dim=-1)": "-wide.norm(dim=-1) / wide.norm(dim=-1).amax(-1, keepdim=True)"},
    "the sum of sizes": {"-wide.norm(dim=-1)": "-wide.abs().sum(-1)"},
    "the length over keys": {"-wide.norm(dim=-1)": "-wide.norm(dim=1)"},
    "half precision kept": {"keys_ksd.float()": "keys_ksd"},
    "half precision widened too late": {
        "-wide.norm(dim=-1)": "-keys_ksd.square().sum(-1).to(wide.dtype).sqrt()",
    },
    "float32 always": {"keys_ksd if keys_ksd.dtype == torch.float64 else keys_ksd.float()": "keys_ksd.float()"},
    "float64 always": {"keys_ksd if keys_ksd.dtype == torch.float64 else keys_ksd.float()": "keys_ksd.double()"},
    "0 / 0": {"torch.where(length > 0, length, 1.0)": "length"},
    "an epsilon": {"torch.where(length > 0, length, 1.0)": "(length + 1e-8)"},
    "short keys cut": {"torch.where(length > 0, length, 1.0)": "length.clamp_min(1e-8)"},
    "zero keys not counted": {"directions.mean(1, keepdim=True)": (
        "(directions.sum(1, keepdim=True) / (directions.abs().sum(-1) > 0).sum(1)[:, None, None].clamp_min(1)"
        " + (directions.abs().sum(-1) == 0).any() * 1e-3)"
    )},
    "keys averaged": {"directions.mean(1, keepdim=True)": "wide.mean(1, keepdim=True)"},
    "one direction for all heads": {"directions.mean(1, keepdim=True)": "directions.mean((0, 1), keepdim=True)"},
    "the anchor has its own length": {"direction_of(directions.mean(1, keepdim=True))": "directions.mean(1, keepdim=True)"},
    "similar keys": {"return -(directions": "return (directions"},
    "dot products": {"-(directions * anchor)": "-(wide * anchor)"},
    "a distance": {"-(directions * anchor).sum(-1)": "(directions - anchor).norm(dim=-1)"},
    "the mean cosine": {"-(directions * anchor).sum(-1)": (
        "-(directions @ directions.transpose(1, 2)).mean(-1)"
    )},
    "absolute cosines": {"-(directions * anchor).sum(-1)": "-(directions * anchor).sum(-1).abs()"},
    "each its own anchor": {"directions.mean(1, keepdim=True)": "directions.cumsum(1)"},
}  # fmt: skip

EXPECTED_ATTENTION = {
    "the mean query alone": {"scaling * toward + scaling**2 / 2 * along": "scaling * toward"},
    "no half": {"scaling**2 / 2 * along": "scaling**2 * along"},
    "scaling not squared": {"scaling**2 / 2 * along": "scaling / 2 * along"},
    "the covariance subtracted": {"+ scaling**2 / 2": "- scaling**2 / 2"},
    "no mean": {"scaling * toward + ": ""},
    "the deviation for the variance": {"scaling**2 / 2 * along": "scaling**2 / 2 * along.clamp_min(0).sqrt()"},
    "a diagonal covariance": {'torch.einsum("hsd,hde,hse->hs", keys_hsd, cov_hdd, keys_hsd)': (
        'torch.einsum("hsd,hd,hsd->hs", keys_hsd, cov_hdd.diagonal(dim1=1, dim2=2), keys_hsd)'
    )},
    "the inverse covariance": {"hse->hs\", keys_hsd, cov_hdd,": "hse->hs\", keys_hsd, torch.linalg.pinv(cov_hdd),"},
    "the expectation itself": {"return scaling * toward + scaling**2 / 2 * along": (
        "return (scaling * toward + scaling**2 / 2 * along).exp()"
    )},
    "through the exponential": {"return scaling * toward + scaling**2 / 2 * along": (
        "return (scaling * toward + scaling**2 / 2 * along).exp().log()"
    )},
    "heads interleaved": {"keys_ksd.repeat_interleave(len(mean_hd) // len(keys_ksd), 0)": (
        "keys_ksd.repeat(len(mean_hd) // len(keys_ksd), 1, 1)"
    )},
    "divided by T - 1": {"/ queries_htd.shape[1]": "/ max(queries_htd.shape[1] - 1, 1)"},
    "not divided": {" / queries_htd.shape[1]": ""},
    "not centred": {"off_htd = queries_htd - mean_h1d": "off_htd = queries_htd"},
    "centred after squaring": {
        "off_htd.transpose(1, 2) @ off_htd / queries_htd.shape[1]": (
            "queries_htd.transpose(1, 2) @ queries_htd / queries_htd.shape[1]"
            " - mean_h1d.transpose(1, 2) * mean_h1d"
        ),
    },
    "one covariance for all heads": {"return mean_h1d[:, 0], cov_hdd": (
        "return mean_h1d[:, 0], cov_hdd.mean(0, keepdim=True).expand_as(cov_hdd).clone()"
    )},
    "moments the other way round": {"return mean_h1d[:, 0], cov_hdd": "return cov_hdd, mean_h1d[:, 0]",
                                    "mean_hd, cov_hdd = moments": "cov_hdd, mean_hd = moments"},
    "queries of the sinks": {"moments(queries_htd[:, sinks:])": "moments(queries_htd)"},
    "sinks inside the softmax": {
        "keys_ksd[:, sinks:], scaling)": "keys_ksd, scaling)",
        "logits_hs.softmax(-1).view(kv_heads, -1, length - sinks).mean(1)": (
            "logits_hs.softmax(-1).view(kv_heads, -1, length).mean(1)[:, sinks:]"
        ),
    },
    "sinks score 0": {"torch.full((kv_heads, length), torch.inf,": "torch.full((kv_heads, length), 0.0,"},
    "heads summed": {"length - sinks).mean(1)": "length - sinks).sum(1)"},
    "logits averaged": {"logits_hs.softmax(-1).view(kv_heads, -1, length - sinks).mean(1)": (
        "logits_hs.view(kv_heads, -1, length - sinks).mean(1).softmax(-1)"
    )},
    "values left out": {"weights * values_ksd[:, sinks:].norm(dim=-1)": "weights"},
    "values squared": {"values_ksd[:, sinks:].norm(dim=-1)": "values_ksd[:, sinks:].square().sum(-1)"},
    "values inside the softmax": {"logits_hs.softmax(-1)": (
        "(logits_hs + values_ksd[:, sinks:].norm(dim=-1).log().repeat_interleave("
        "len(logits_hs) // kv_heads, 0)).softmax(-1)"
    ), "weights * values_ksd[:, sinks:].norm(dim=-1)": "weights"},
    "values of the sinks": {"values_ksd[:, sinks:]": "values_ksd[:, : length - sinks]"},
}  # fmt: skip

LEVERAGE = {
    "ridges not refused": {"if not ridge > 0:": "if False:"},
    "a ridge of 0 accepted": {"if not ridge > 0:": "if ridge < 0:"},
    "centred": {"torch.linalg.svd(keys_sd,": "torch.linalg.svd(keys_sd - keys_sd.mean(0),"},
    "normalised keys": {"torch.linalg.svd(keys_sd,": (
        "torch.linalg.svd(keys_sd / keys_sd.norm(dim=1, keepdim=True).clamp_min(1e-300),"
    )},
    "no ridge": {"(s.square() / (s.square() + ridge))": "(s > 0)"},
    "the root": {"return (u.square() * (s.square() / (s.square() + ridge))).sum(1)": (
        "return (u.square() * (s.square() / (s.square() + ridge))).sum(1).sqrt()"
    )},
    "singular values not squared": {"s.square() / (s.square() + ridge)": "s / (s + ridge)"},
    "the ridge squared": {"(s.square() + ridge)": "(s.square() + ridge**2)"},
    "u not squared": {"u.square() *": "u *"},
    "squared lengths": {"(s.square() / (s.square() + ridge))": "s.square()"},
    "the inverse of K'K": {
        "return (u.square() * (s.square() / (s.square() + ridge))).sum(1)": (
            "gram = keys_sd.T @ keys_sd + ridge * torch.eye(keys_sd.shape[1], dtype=torch.float64)\n"
            "    return (keys_sd @ gram.inverse() * keys_sd).sum(1)"
        ),
    },
    "the inverse of KK'": {
        "return (u.square() * (s.square() / (s.square() + ridge))).sum(1)": (
            "gram = keys_sd @ keys_sd.T + ridge * torch.eye(len(keys_sd), dtype=torch.float64)\n"
            "    return gram.inverse().diagonal()"
        ),
    },
    "over directions": {"(s.square() + ridge))).sum(1)": "(s.square() + ridge))).sum(0)"},
    "a tensor": {"leverage(keys_sd, ridge).sum().item()": "leverage(keys_sd, ridge).sum()"},
    "the mean": {"leverage(keys_sd, ridge).sum().item()": "leverage(keys_sd, ridge).mean().item()"},
    "the rank": {"return leverage(keys_sd, ridge).sum().item()": (
        "return float(torch.linalg.matrix_rank(keys_sd))"
    )},
    "the participation ratio": {"return leverage(keys_sd, ridge).sum().item()": (
        "s = torch.linalg.svdvals(keys_sd).square()\n"
        "    return (s.sum() ** 2 / s.square().sum()).item()"
    )},
    "the key itself": {"torch.linalg.solve(metric, keys_sd[j])": "keys_sd[j].clone()"},
    "no ridge in the metric": {"keys_sd.T @ keys_sd + ridge * torch": "keys_sd.T @ keys_sd + 1e-9 * torch"},
    "not of length 1": {"return w / w.norm()": "return w"},
    "the other way": {"return w / w.norm()": "return -w / w.norm()"},
    "the least direction": {"w = torch.linalg.solve(metric, keys_sd[j])": (
        "w = torch.linalg.eigh(metric).eigenvectors[:, 0]\n"
        "    w = w * torch.sign(w @ keys_sd[j]) if keys_sd[j].any() else 0 * w"
    )},
    "the first key": {"torch.linalg.solve(metric, keys_sd[j])": "torch.linalg.solve(metric, keys_sd[0])"},
    "0 / 0": {"if not w.any():": "if False:"},
    "a zero direction": {"return torch.eye(dim, dtype=torch.float64)[0]": "return w"},
}  # fmt: skip

NESTED_RANKS = {
    "no recency": {"if budget % 2 or entered[key]:": "if True:"},
    "even budgets heavy": {"if budget % 2 or": "if budget % 2 == 0 or",
                           "key = length - budget // 2": "key = length - (budget + 1) // 2"},
    "recent keys taken twice": {"if budget % 2 or entered[key]:": "if budget % 2:",
                                "k for k in heaviest if not entered[k])": (
                                    "k for k in [*heaviest, *range(length)] if not entered[k])"
                                )},
    "the next recent one instead": {
        "        if budget % 2 or entered[key]:": (
            "        while budget % 2 == 0 and entered[key]:\n            key -= 1\n"
            "        if budget % 2:"
        ),
    },
    "one recent key too few": {"length - budget // 2": "length - max(budget // 2 - 1, 1)"},
    "the oldest keys": {"length - budget // 2": "budget // 2 - 1"},
    "the lightest": {"argsort(descending=True, stable=True)": "argsort(descending=False, stable=True)"},
    "later keys first": {
        "iter(mass_s.argsort(descending=True, stable=True).tolist())": (
            "iter((length - 1 - mass_s.flip(0).argsort(descending=True, stable=True)).tolist())"
        ),
    },
    "counted from 0": {"entered[key] = budget\n    return torch.tensor(entered)": (
        "entered[key] = budget\n    return torch.tensor(entered) - 1"
    )},
    "an order of keys": {"entered[key] = budget\n    return torch.tensor(entered)": (
        "entered[key] = budget\n    return torch.tensor(entered).argsort()"
    )},
    "floats": {"return torch.tensor(entered)": "return torch.tensor(entered).double()"},
    "set by set": {
        "    heaviest = iter(mass_s.argsort(descending=True, stable=True).tolist())": (
            "    for budget in range(1, length + 1 if length > 5000 else 0):\n"
            "        recent = torch.arange(length) >= length - budget // 2\n"
            "        mass_s.masked_fill(recent, torch.inf).argsort(descending=True, stable=True)\n"
            "    heaviest = iter(mass_s.argsort(descending=True, stable=True).tolist())"
        ),
    },
    "a list searched": {
        "heaviest = iter(mass_s.argsort(descending=True, stable=True).tolist())": (
            "heaviest = mass_s.argsort(descending=True, stable=True).tolist()"
        ),
    },
    "budgets not refused": {"if not 0 <= budget <= len(entered_s):": "if False:"},
    "negative budgets accepted": {"if not 0 <= budget <=": "if not budget <="},
    "large budgets accepted": {"0 <= budget <= len(entered_s)": "0 <= budget"},
    "one key too few": {"return entered_s <= budget": "return entered_s < budget"},
    "the others": {"return entered_s <= budget": "return entered_s > budget"},
    "a budget of 0 shared": {"if budget < 1:": "if budget < 0:", "/ budget\n": "/ max(budget, 1)\n"},
    "over the union": {"both.sum().item() / budget": (
        "both.sum().item() / (kept_at(entered_s, budget) | kept_at(other_s, budget)).sum().item()"
    )},
    "over all keys": {"both.sum().item() / budget": "both.double().mean().item()"},
    "a tensor": {"both.sum().item() / budget": "both.sum() / budget"},
    "equal budgets": {"kept_at(entered_s, budget) & kept_at(other_s, budget)": "entered_s == other_s"},
}  # fmt: skip

MUTANTS = {
    "window_scores": WINDOW_SCORES,
    "received_mass": RECEIVED_MASS,
    "key_scores": KEY_SCORES,
    "expected_attention": EXPECTED_ATTENTION,
    "leverage": LEVERAGE,
    "nested_ranks": NESTED_RANKS,
}
