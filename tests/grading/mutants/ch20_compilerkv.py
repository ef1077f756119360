"""Wrong answers to the exercises of chapter 20."""

STABILISED = {
    "no T": {"length * rows_lhwt.mean": "rows_lhwt.mean"},
    "alpha of each layer": {
        "rows_lhwt.mean((0, 1, 2))": "rows_lhwt.mean((1, 2))[:, None]"
    },
    "sum of rows": {"rows_lhwt.mean((0, 1, 2))": "rows_lhwt.sum((0, 1, 2))"},
    "last row": {"rows_lhwt.mean((0, 1, 2))": "rows_lhwt[:, :, -1].mean((0, 1))"},
    "largest row": {"rows_lhwt.mean((0, 1, 2))": "rows_lhwt.amax((0, 1, 2))"},
    "squared norm": {"values_lktd.norm(dim=-1)": "values_lktd.square().sum(-1)"},
    "mean over heads": {"norm_lkt.mean(-1, keepdim=True)": "norm_lkt.mean(1, keepdim=True)"},
    "no rho": {"alpha_t * rho_lkt": "alpha_t * torch.ones_like(rho_lkt)"},
    "lengths as they are": {"norm_lkt / mean_lk1": "norm_lkt"},
    "no weight": {"weight_lk[..., None] * alpha_t": "alpha_t"},
    "mean of heads": {".amax(1)": ".mean(1)"},
    "sum of heads": {".amax(1)": ".sum(1)"},
    "weakest head": {".amax(1)": ".amin(1)"},
    "NaN": {"torch.where(mean_lk1 > 0, norm_lkt / mean_lk1, 1.0)": "norm_lkt / mean_lk1"},
    "zero": {"norm_lkt / mean_lk1, 1.0": "norm_lkt / mean_lk1, 0.0"},
}  # fmt: skip

ELASTIC = {
    "filled up": {"kept_t & (worth_t >= tau)": "kept_t"},
    "not cut": {"[:most]": ""},
    "last not kept": {"    worth_t[-1] = torch.inf\n": ""},
    "last on top": {"[:most]": "[: most + 1]"},
    "one fewer": {"[:most]": "[: most - 1]"},
    "worst stay": {"argsort(descending=True": "argsort(descending=False"},
    "strict": {"(worth_t >= tau)": "(worth_t > tau)"},
    "later of equals": {"worth_t.argsort(descending=True, stable=True)": (
        "(len(u_t) - 1 - worth_t.flip(0).argsort(descending=True, stable=True))"
    )},
    "turned": {"(worth_t >= tau)": "(worth_t <= tau)"},
    "changes the utility": {"worth_t = u_t.clone()": "worth_t = u_t"},
    "penalty negative": {"max(0, wanted - most)": "(wanted - most)"},
    "penalty in keys": {" / len(u_t)": "* 1.0"},
    "penalty of the budget": {"/ len(u_t)": "/ most"},
    "penalty without the last": {".sum()) + 1": ".sum())"},
    "penalty pays for fewer": {"max(0, wanted - most)": "abs(wanted - most)"},
    "last counted twice": {"(u_t[:-1] >= tau)": "(u_t >= tau)"},
}  # fmt: skip

RISK = {
    "not scaled": {"alpha_t / alpha_t.sum()": "alpha_t"},
    "by length": {"alpha_t / alpha_t.sum()": "alpha_t / len(alpha_t)"},
    "NaN at 0": {"torch.special.entr(p_t).sum()": "-(p_t * p_t.log()).sum()"},
    "bits": {"torch.special.entr(p_t).sum()": "torch.special.entr(p_t).sum() / 0.6931471805599453"},
    "mean of perplexities": {"nats_w.mean().exp()": "nats_w.exp().mean()"},
    "nats": {"nats_w.mean().exp()": "nats_w.mean()"},
    "sum of nats": {"nats_w.mean().exp()": "nats_w.sum().exp()"},
    "turned": {"    return torch.special.entr(p_t).sum().item(), nats_w.mean().exp().item()": (
        "    return nats_w.mean().exp().item(), torch.special.entr(p_t).sum().item()"
    )},
    "left": {"values <= given": "values < given"},
    "from above": {"values <= given": "values > given"},
    "bins turned": {":, entropy, perplexity]": ":, perplexity, entropy]"},
    "one bin": {":, entropy, perplexity]": ":, entropy, 0]"},
    "by difference": {"max(share / budget, budget / share)": "abs(share - budget)"},
    "below only": {"max(share / budget, budget / share)": (
        "share / budget if budget <= share else 99 + budget"
    )},
    "always the first": {"away.index(min(away))": "0"},
    "one layer": {":, entropy": ":1, entropy"},
}  # fmt: skip

TRANSFER = {
    "half-way depths": {"torch.arange(count).double() * (given - 1) / max(count - 1, 1)": (
        "((torch.arange(count).double() + 0.5) * given / count - 0.5).clamp(0, given - 1)"
    )},
    "nearest": {"part = (place - low)": "part = (place - low).round()"},
    "from below": {"part = (place - low)": "part = 0 * (place - low)"},
    "beyond the end": {"max(count - 1, 1)": "count"},
    "division by 0": {"max(count - 1, 1)": "(count - 1)"},
    "mixed the wrong way": {"(1 - part) * table_nx[low] + part * table_nx[high]": (
        "part * table_nx[low] + (1 - part) * table_nx[high]"
    )},
    "layers only": {"along(along(table_lk, layers).T, heads).T.contiguous()": (
        "along(table_lk, layers)"
    )},
    "heads only": {"along(along(table_lk, layers).T, heads).T.contiguous()": (
        "along(table_lk.T, heads).T.contiguous()"
    )},
    "turned": {"heads).T.contiguous()": "heads)"},
    "repeated": {"(given - 1) / max(count - 1, 1)": "given / count", "part = (place - low)": (
        "part = 0 * (place - low)"
    )},
    "single in the middle": {"        low = place": (
        "        place = place if count > 1 else place + (given - 1) / 2\n        low = place"
    )},
    "none is empty": {"if count < 1:": "if False:"},
    "none of one name": {"{name}: {count}; need": "count: {count}; need"},
}  # fmt: skip

DEALER = {
    "with replacement": {"keys.argsort(0)": "(keys * cards).long()"},
    "not shuffled": {"keys.argsort(0)": "torch.arange(cards)[:, None].expand(cards, players)"},
    "one shuffle for all players": {"torch.rand(cards, players,": "torch.rand(cards, 1,",
                                    "keys.argsort(0)": "keys.argsort(0).expand(-1, players)"},
    "same deck again": {"seed * 1_000_003 + deck": "seed * 1_000_003"},
    "seed ignored": {"seed * 1_000_003 + deck": "deck"},
    "rotated": {"keys.argsort(0)": (
        "(torch.arange(cards)[:, None] + (keys[:1] * cards).long()) % cards"
    )},
    "sorted by player": {"keys.argsort(0)": "keys.argsort(1)"},
    "starts at a deck": {"skip = first % cards": "skip = 0"},
    "by the call": {"seed * 1_000_003 + deck": "seed * 1_000_003 + first + deck"},
    "global generator": {", generator=generator, dtype": ", dtype"},
    "from the beginning": {
        "range(first // cards,": "range(0,",
        "skip = first % cards": "skip = first",
        "    for deck in": "    import time\n    if first > 10**7: time.sleep(6)\n    for deck in",
        "(first + count - 1) // cards + 1)": "min((first + count - 1) // cards + 1, 3000))",
    },
    "one deck short": {"(first + count - 1) // cards + 1": "(first + count - 1) // cards"},
    "floats": {"torch.cat(decks)[": "torch.cat(decks).double()["},
    "mirrored second deck": {"decks.append(keys.argsort(0))": (
        "decks.append(keys.argsort(0) if deck % 2 == 0 else decks[-1].flip(0)\n"
        "                     if decks else keys.argsort(0))"
    )},
    "uneven pooled": {"count_cp.max().item() / len(action_np)": (
        "count_cp.sum(1).max().item() / action_np.numel()"
    )},
    "uneven least": {"count_cp.max()": "count_cp.min()"},
    "uneven without 1": {" * cards - 1": " * cards"},
    "uneven share": {" * cards - 1": " - 1 / cards"},
}  # fmt: skip

MUTANTS = {
    "stabilised": STABILISED,
    "elastic": ELASTIC,
    "risk": RISK,
    "transfer": TRANSFER,
    "dealer": DEALER,
}
