"""Wrong answers to the exercises of chapter 12."""

EXACT_SLOT = {
    "a mean of logits": {"evicted.logsumexp(0).item()": "evicted.mean().item()"},
    "a sum of weights": {"evicted.logsumexp(0).item()": "evicted.exp().sum().item()"},
    "exponentials overflow": {"evicted.logsumexp(0).item()": "evicted.exp().sum().log().item()"},
    "the largest logit": {"evicted.logsumexp(0).item()": "evicted.max().item()"},
    "the log of the mean": {"evicted.logsumexp(0).item()": (
        "(evicted.logsumexp(0) - torch.tensor(float(len(evicted))).log()).item()"
    )},
    "a tensor": {"evicted.logsumexp(0).item()": "evicted.logsumexp(0)"},
    "the kept keys": {"logits_s[~kept_s]": "logits_s[kept_s]", "values_sd[~kept_s]": "values_sd[kept_s]"},
    "a plain mean of values": {"evicted.softmax(0) @ values_sd[~kept_s]": "values_sd[~kept_s].mean(0)"},
    "weights of the whole row": {"evicted.softmax(0) @": "logits_s.softmax(0)[~kept_s] @"},
    "single precision": {"evicted.softmax(0) @ values_sd[~kept_s]": (
        "(evicted.float().softmax(0) @ values_sd[~kept_s].float()).double()"
    )},
    "no slot": {"p = torch.cat([logits_s[kept_s], slot]).softmax(0)": (
        "p = torch.cat([logits_s[kept_s], slot - torch.inf]).softmax(0)"
    )},
    "the slot on top": {"    return p @ torch.cat([values_sd[kept_s], slot_value_d[None]])": (
        "    return logits_s[kept_s].softmax(0) @ values_sd[kept_s] + p[-1] * slot_value_d"
    )},
    "the slot beside everything": {"logits_s[kept_s], slot": "logits_s, slot",
                                   "values_sd[kept_s], slot": "values_sd, slot"},
    "weights by hand": {"torch.cat([logits_s[kept_s], slot]).softmax(0)": (
        "torch.cat([logits_s[kept_s], slot]).exp()\n    p = p / p.sum()"
    )},
    "the slot first": {"torch.cat([logits_s[kept_s], slot])": "torch.cat([slot, logits_s[kept_s]])"},
}  # fmt: skip

SLOT_DEBT = {
    "bits": {"return entropy.item(), (-entropy - share_e @ log_w).item()": (
        "return entropy.item() / 0.6931471805599453, (-entropy - share_e @ log_w).item()"
    )},
    "the count": {"entropy = torch.special.entr(share_e).sum()": (
        "entropy = torch.tensor(float(len(share_e)), dtype=torch.float64).log()"
    )},
    "0 log 0 is nan": {"torch.special.entr(share_e).sum()": "-(share_e * share_e.log()).sum()"},
    "a tiny number": {"torch.special.entr(share_e).sum()": (
        "-(share_e * (share_e + 1e-4).log()).sum()"
    )},
    "the logarithm of a softmax": {"logits_e.log_softmax(0)": "logits_e.softmax(0).log()"},
    "clamped": {"logits_e.log_softmax(0)": "logits_e.softmax(0).clamp_min(1e-30).log()"},
    "the other way round": {"(-entropy - share_e @ log_w).item()": (
        "(log_w.exp() @ (log_w - share_e.clamp_min(1e-300).log())).item()"
    )},
    "the cross entropy": {"(-entropy - share_e @ log_w).item()": "(-(share_e @ log_w)).item()"},
    "exchanged": {"return entropy.item(), (-entropy - share_e @ log_w).item()": (
        "return (-entropy - share_e @ log_w).item(), entropy.item()"
    )},
    "tensors": {"entropy.item(), (": "entropy, ("},
    "no bias": {"share_e @ logits_e + bias": "share_e @ logits_e"},
    "the bias outside": {"(share_e @ logits_e + bias - logits_e.logsumexp(0)).exp().item()": (
        "(share_e @ logits_e - logits_e.logsumexp(0)).exp().item() + bias"
    )},
    "exponentials overflow": {"(share_e @ logits_e + bias - logits_e.logsumexp(0)).exp().item()": (
        "((share_e @ logits_e + bias).exp() / logits_e.exp().sum()).item()"
    )},
    "a difference of logits": {"logits_e.logsumexp(0)).exp().item()": "logits_e.logsumexp(0)).item()"},
    "the mean's logarithm": {"- logits_e.logsumexp(0)": "- logits_e.logsumexp(0) + torch.tensor(len(share_e)).log()"},
    "capped at 1": {"logits_e.logsumexp(0)).exp().item()": "logits_e.logsumexp(0)).exp().item() ** 0.5"},
}  # fmt: skip

TANGENT = {
    "a mean of softmaxes": {"(keys @ queries_xd.mean(0)).softmax(0)": (
        "(queries_xd @ keys.T).softmax(1).mean(0)"
    )},
    "the last query": {"queries_xd.mean(0)": "queries_xd[-1]"},
    "the sum of queries": {"queries_xd.mean(0)": "queries_xd.sum(0)"},
    "scaled again": {"queries_xd.mean(0))": "queries_xd.mean(0) / keys.shape[1] ** 0.5)"},
    "all keys": {"keys_sd[~kept_s], values_sd[~kept_s]": "keys_sd, values_sd"},
    "the kept ones": {"keys_sd[~kept_s], values_sd[~kept_s]": "keys_sd[kept_s], values_sd[kept_s]"},
    "plain means": {"(keys @ queries_xd.mean(0)).softmax(0)": (
        "torch.full((len(keys),), 1 / len(keys), dtype=torch.float64)"
    )},
    "a plain mean value": {"r @ keys, r @ values": "r @ keys, values.mean(0)"},
    "a plain mean key": {"r @ keys, r @ values": "keys.mean(0), r @ values"},
    "no bias": {"torch.special.entr(r).sum().item()": "0.0"},
    "the count": {"torch.special.entr(r).sum().item()": (
        "torch.tensor(float(len(r)), dtype=torch.float64).log().item()"
    )},
    "the sign": {"torch.special.entr(r).sum().item()": "-torch.special.entr(r).sum().item()"},
    "0 log 0": {"torch.special.entr(r).sum().item()": "-(r * r.log()).sum().item()"},
    "the logsumexp for the bias": {"torch.special.entr(r).sum().item()": (
        "(keys @ queries_xd.mean(0)).logsumexp(0).item()"
    )},
    "kept keys in the gap": {"queries_xd @ keys_sd[~kept_s].T": "queries_xd @ keys_sd.T"},
    "the sum of gaps": {"gap_x.mean()": "gap_x.sum()"},
    "the largest gap": {"gap_x.mean()": "gap_x.max()"},
    "the whole gap": {"lift * gap_x": "gap_x"},
    "only the addition": {"return bias + lift": "return lift"},
    "the bias is no part of the slot": {" - queries_xd @ key_d - bias": " - queries_xd @ key_d"},
    "downwards": {"bias + lift *": "bias - lift *"},
    "at the mean query": {"    gap_x = exact_x - queries_xd @ key_d - bias": (
        "    mean = queries_xd.mean(0)\n"
        "    gap_x = (keys_sd[~kept_s] @ mean).logsumexp(0) - mean @ key_d - bias"
    )},
}  # fmt: skip

DISPERSION = {
    "no mass": {"mass * (weight": "1.0 * (weight"},
    "mass twice": {"mass * (weight / mass": "mass * (weight"},
    "no root": {".square().sum(1)).sqrt()": ".square().sum(1))"},
    "not ranked": {"score_s.argsort(descending=True, stable=True)": "torch.arange(len(score_s))"},
    "the least first": {"argsort(descending=True, stable=True)": "argsort(stable=True)"},
    "not stable": {"score_s.argsort(descending=True, stable=True)": (
        "len(score_s) - 1 - score_s.flip(0).argsort(descending=True, stable=True)"
    )},
    "forced keys in the tail": {
        "    order = order[score_s[order] < torch.inf]\n": "",
        "pi = score_s[order]": "pi = score_s[order].clamp_max(1)",
    },
    "forced keys count": {"torch.zeros(len(pi) + 1": "torch.zeros(len(score_s) + 1"},
    "the sum of all scores that are left": {"pi / pi.sum() if len(pi) else pi": "pi"},
    "no last point": {"torch.zeros(len(pi) + 1": "torch.zeros(max(len(pi), 1)"},
    "0 / 0": {"        if mass > 0:": "        if True:"},
    "cancellation": {
        "            away = values - weight @ values / mass\n": "            r = weight / mass\n",
        "(weight / mass @ away.square().sum(1)).sqrt()": (
            "(r @ values.square().sum(1) - (r @ values).square().sum()).clamp_min(0).sqrt()"
        ),
    },
    "from the plain mean": {"weight @ values / mass": "values.mean(0)"},
    "from the mean of all": {"weight @ values / mass": "pi @ values_sd[order]"},
    "distances, not squares": {"(weight / mass @ away.square().sum(1)).sqrt()": (
        "(weight / mass @ away.norm(dim=1))"
    )},
    "values not ranked": {"values_sd[order[b:]]": "values_sd[b : len(pi)]"},
    "one late": {"weight, values = pi[b:], values_sd[order[b:]]": (
        "weight, values = pi[b + 1 :], values_sd[order[b + 1 :]]"
    )},
}  # fmt: skip

DIVISION = {
    "its own loss": {"cost_hb.shape[1])\n    loss_hb = loss_hb - loss_hb.amin(1, keepdim=True)\n"
                     "    gap = loss_hb.gather(1, counts_h[:, None]).sum()": (
        "cost_hb.shape[1])\n    loss_hb = loss_hb - loss_hb.amin(1, keepdim=True)\n"
        "    gap = loss_hb.gather(1, counts_h[:, None])"
    )},
    "no price": {"cost_hb + price * torch.arange(cost_hb.shape[1])": "cost_hb + 0"},
    "the least of all heads": {"loss_hb.amin(1, keepdim=True)": "loss_hb.amin()"},
    "no least": {"    loss_hb = loss_hb - loss_hb.amin(1, keepdim=True)\n": ""},
    "strictly less": {"loss_hb <= gap": "loss_hb < gap"},
    "the largest loss": {"counts_h[:, None]).sum()": "counts_h[:, None]).max()"},
    "everything": {"return loss_hb <= gap": "return loss_hb <= gap + 1e9"},
    "the cheapest only": {"return loss_hb <= gap": "return loss_hb <= 0"},
    "one key at a time": {"    heads, room = cost_hb.shape[0], cost_hb.shape[1] - 1\n": (
        "    heads, room = cost_hb.shape[0], cost_hb.shape[1] - 1\n"
        "    if 0 <= total <= heads * room:\n"
        "        counts = torch.zeros(heads, dtype=torch.int64)\n"
        "        padded = torch.cat([cost_hb, torch.full((heads, 1), torch.inf)], 1)\n"
        "        for _ in range(total):\n"
        "            gain = (cost_hb.gather(1, counts[:, None])\n"
        "                    - padded.gather(1, counts[:, None] + 1))[:, 0]\n"
        "            counts[gain.argmax()] += 1\n"
        "        return counts\n"
    )},
    "equal shares": {"    heads, room = cost_hb.shape[0], cost_hb.shape[1] - 1\n": (
        "    heads, room = cost_hb.shape[0], cost_hb.shape[1] - 1\n"
        "    if 0 <= total <= heads * room:\n"
        "        counts = torch.full((heads,), total // heads)\n"
        "        counts[: total % heads] += 1\n"
        "        return counts\n"
    )},
    "a price and no repair": {"    heads, room = cost_hb.shape[0], cost_hb.shape[1] - 1\n": (
        "    heads, room = cost_hb.shape[0], cost_hb.shape[1] - 1\n"
        "    if 0 <= total <= heads * room:\n"
        "        low, high = 0.0, float(cost_hb.max()) + 1\n"
        "        for _ in range(60):\n"
        "            mid = (low + high) / 2\n"
        "            counts = (cost_hb + mid * torch.arange(room + 1)).argmin(1)\n"
        "            low, high = (mid, high) if counts.sum() > total else (low, mid)\n"
        "        return (cost_hb + high * torch.arange(room + 1)).argmin(1)\n"
    )},
    "every division": {"    heads, room = cost_hb.shape[0], cost_hb.shape[1] - 1\n": (
        "    import itertools\n"
        "    heads, room = cost_hb.shape[0], cost_hb.shape[1] - 1\n"
        "    if 0 <= total <= heads * room and room < 100:\n"
        "        table = cost_hb.tolist()\n"
        "        ways = (w for w in itertools.product(range(room + 1), repeat=heads)\n"
        "                if sum(w) == total)\n"
        "        best = min(ways, key=lambda w: sum(c[b] for c, b in zip(table, w)))\n"
        "        return torch.tensor(best)\n"
        "    if room >= 100:\n"
        "        return torch.zeros(heads, dtype=torch.int64)\n"
    )},
    "at most the total": {"taken.append(take)\n    counts, left = [], total": (
        "taken.append(take)\n    counts, left = [], max(total - 1, 0)"
    )},
    "the most": {"torch.full((total + 1,), torch.inf": "torch.full((total + 1,), -torch.inf",
                 "torch.full_like(least, torch.inf)": "torch.full_like(least, -torch.inf)",
                 "through < more": "through > more"},
    "one key too few a head": {"range(min(room, total) + 1)": "range(min(room - 1, total) + 1)"},
    "backwards": {"counts[::-1]": "counts"},
    "any total": {"if not 0 <= total <= heads * room:": "if False:"},
    "negative totals": {"if not 0 <= total <= heads * room:": "if total > heads * room:",
                        "    least = torch.full": "    total = max(total, 0)\n    least = torch.full"},
    "everything is too much": {"0 <= total <= heads": "0 <= total < heads"},
    "floats": {"torch.tensor(counts[::-1])": "torch.tensor(counts[::-1], dtype=torch.float64)"},
}  # fmt: skip

MUTANTS = {
    "exact_slot": EXACT_SLOT,
    "slot_debt": SLOT_DEBT,
    "tangent": TANGENT,
    "dispersion": DISPERSION,
    "division": DIVISION,
}
