"""Wrong answers to the exercises of chapter 13."""

UTILITY = {
    "mean over the group": {"said_krts.topk(min(most, group), dim=1).values.mean(1)": (
        "said_krts.mean(1)"
    )},
    "largest head": {".values.mean(1)": ".values.amax(1)"},
    "sum of heads": {".values.mean(1)": ".values.sum(1)"},
    "smallest heads": {"dim=1).values": "dim=1, largest=False).values"},
    "always four": {"min(most, group)": "min(4, group)"},
    "more than there are": {"min(most, group)": "most"},
    "groups interleaved": {
        "logits_hts.reshape(kv_heads, group, rows, length)": (
            "logits_hts.reshape(group, kv_heads, rows, length).transpose(0, 1)"
        ),
    },
    "mean over rows": {"said_kts.amax((0, 1))": "said_kts.mean(1).amax(0)"},
    "mean over groups": {"said_kts.amax((0, 1))": "said_kts.amax(1).mean(0)"},
    "last row": {"said_kts.amax((0, 1))": "said_kts[:, -1].amax(0)"},
    "unseen are 0": {"utility_s[seen].min())": "0.0)"},
    "unseen are the largest": {"utility_s[seen].min()": "utility_s[seen].max()"},
    "unseen stay": {"torch.where(seen, utility_s, utility_s[seen].min())": "utility_s"},
    "invisible are 0": {"    heads, rows": (
        "    logits_hts = logits_hts.masked_fill(logits_hts.isinf(), 0.0)\n    heads, rows"
    )},
}  # fmt: skip

PAIR_GAIN = {
    "not inverted": {"torch.linalg.solve(sigma_zz, x_sz.T).T\n    return": (
        "x_sz @ sigma_zz\n    return"
    )},
    "no sigma": {"torch.linalg.solve(sigma_zz, x_sz.T).T\n    return": "x_sz\n    return"},
    "no alpha": {"return alpha * (x_sz * solved_sz).sum(1)": (
        "return (x_sz * solved_sz).sum(1)"
    )},
    "the logarithm": {"(x_sz * solved_sz).sum(1)": "(x_sz * solved_sz).sum(1).log1p()"},
    "all pairs": {"(x_sz * solved_sz).sum(1)": "(x_sz @ solved_sz.T).sum(1)"},
    "cross without alpha": {"cross = alpha * (": "cross = ("},
    "cross not squared": {"cross**2": "abs(cross)"},
    "one denominator": {"(1 + h_x) * (1 + h_y)": "(1 + h_x)"},
    "gains, not 1 + gains": {"((1 + h_x) * (1 + h_y))": "(h_x * h_y + 1)"},
    "plus": {"torch.tensor(-rho2": "torch.tensor(rho2"},
    "rho2": {"torch.log1p(torch.tensor(-rho2, dtype=torch.float64)).item()": "-rho2"},
    "the whole pair": {"    return torch.log1p(": (
        "    import math\n    return math.log1p(h_x) + math.log1p(h_y) + torch.log1p("
    )},
    "positive": {"return -(alpha": "return (alpha"},
    "not squared": {".square()\n    # END": "\n    # END"},
    "outside the square": {"-(alpha * x_sz @ torch.linalg.solve(sigma_zz, x_sz.T)).square()": (
        "-alpha * (x_sz @ torch.linalg.solve(sigma_zz, x_sz.T)).square()"
    )},
    "the diagonal only": {".square()\n    # END": ".square().diagonal().diag()\n    # END"},
}  # fmt: skip

BOUNDARY = {
    "own order": {"order = teacher_s.argsort(descending=True, stable=True)\n    above": (
        "order = score_s.argsort(descending=True, stable=True)\n    above"
    )},
    "ascending": {"order = teacher_s.argsort(descending=True, stable=True)\n    above": (
        "order = teacher_s.argsort(stable=True)\n    above"
    )},
    "ties anyhow": {"order = teacher_s.argsort(descending=True, stable=True)\n    above": (
        "order = len(teacher_s) - 1 - teacher_s.flip(0).argsort(\n"
        "        descending=True, stable=True)\n    above"
    )},
    "from the end": {"max(kept - width, 0)": "kept - width"},
    "all kept": {"max(kept - width, 0) : kept": ": kept"},
    "all others": {"kept : kept + width": "kept:"},
    "one off": {"order[kept : kept + width]": "order[kept + 1 : kept + width + 1]"},
    "not cut": {".clamp_min(0)": ""},
    "cut each": {".clamp_min(0).mean()": ".mean().clamp_min(0)"},
    "turned": {"margin - above[:, None] + below": "margin + above[:, None] - below"},
    "no margin": {"margin - above": "0 - above"},
    "diagonal pairs": {"above[:, None] + below": (
        "above[: len(below)][: len(above)] + below[: len(above)]"
    )},
    "sum": {".clamp_min(0).mean()": ".clamp_min(0).sum()"},
    "the union": {"(ours & theirs).sum().item() / kept": (
        "(ours & theirs).sum().item() / (ours | theirs).sum().item()"
    )},
    "of all keys": {"(ours & theirs).sum().item() / kept": (
        "(ours & theirs).sum().item() / len(score_s)"
    )},
    "a count": {"(ours & theirs).sum().item() / kept": "float((ours & theirs).sum().item())"},
    "agreement": {"(ours & theirs).sum().item() / kept": "(ours == theirs).double().mean().item()"},
}  # fmt: skip

RISING_ROUND = {
    "entropy subtracted": {"+ tau * entropy": "- tau * entropy"},
    "no entropy": {" + tau * entropy": ""},
    "NaN at 0": {"torch.special.xlogy(w_s, w_s)": "(w_s * w_s.log())"},
    "weights not in Sigma": {"(x_sz.T * w_s) @ x_sz\n    entropy": "x_sz.T @ x_sz\n    entropy"},
    "squared weights": {"(x_sz.T * w_s) @ x_sz\n    entropy": (
        "(x_sz.T * w_s**2) @ x_sz\n    entropy"
    )},
    "no identity": {"eye + (x_sz.T * w_s) @ x_sz\n    entropy": (
        "1e-3 * eye + (x_sz.T * w_s) @ x_sz\n    entropy"
    )},
    "det": {"torch.logdet(sigma)": "torch.det(sigma)"},
    "weights mixed": {"((1 - share) * w_s.log() + share * wanted_s).softmax(0)": (
        "(1 - share) * w_s + share * wanted_s.softmax(0)"
    )},
    "share ignored": {"((1 - share) * w_s.log() + share * wanted_s).softmax(0)": (
        "(wanted_s if share > 0.1 else w_s.log()).softmax(0)"
    )},
    "start counted in full": {"(1 - share) * w_s.log()": "w_s.log()"},
    "times tau": {"(u_s + beta * h_s) / tau": "(u_s + beta * h_s) * tau"},
    "tau for coverage only": {"(u_s + beta * h_s) / tau": "u_s + beta * h_s / tau"},
    "beta forgotten": {"u_s + beta * h_s": "u_s + h_s"},
    "overflow": {"((1 - share) * w_s.log() + share * wanted_s).softmax(0)": (
        "(lambda e: e / e.sum())(((1 - share) * w_s.log() + share * wanted_s).exp())"
    )},
    "full always": {"if objective(after_s, u_s, x_sz, beta, tau) >= reached:": "if True:"},
    "half at once": {"tau), 1.0\n": "tau), 0.5\n"},
    "thirds": {"share /= 2": "share /= 3"},
    "from where it fell": {"        share /= 2": "        w_s = after_s\n        share /= 2"},
    "stops where it falls": {">= reached": "< reached or share < 1e-6"},
    "a small fall is fine": {">= reached": ">= reached - 5"},
}  # fmt: skip

GREEDY = {
    "gains of the start": {"        inverse_zz = inverse_zz -": "        unused = inverse_zz -"},
    "added, not subtracted": {"inverse_zz - torch.outer": "inverse_zz + torch.outer"},
    "no denominator": {" / (1 + h_s[best])": ""},
    "h below": {"(1 + h_s[best])": "h_s[best]"},
    "not the logarithm": {"h_s.log1p()": "h_s"},
    "no utility": {"(u_s + beta * h_s.log1p())": "(beta * h_s.log1p())"},
    "no coverage": {"(u_s + beta * h_s.log1p())": "(u_s + 0 * h_s)"},
    "beta forgotten": {"beta * h_s.log1p()": "h_s.log1p()"},
    "twice the same": {"        free_s[best] = False\n": ""},
    "the last of equals": {".nonzero()[0])": ".nonzero()[-1])"},
    "least first": {"-torch.inf": "torch.inf", "adds_s.max()": "adds_s.min()"},
    "sorted": {"return torch.tensor(picked, dtype=torch.int64)": (
        "return torch.tensor(sorted(picked), dtype=torch.int64)"
    )},
    "update by the key itself": {"inverse_zz @ x_sz[best]": "x_sz[best]"},
    "one too few": {"range(count)": "range(count - 1)"},
    "slow": {"        h_s = ((x_sz @ inverse_zz) * x_sz).sum(1)\n": (
        "        base = torch.linalg.inv(inverse_zz)\n"
        "        h_s = torch.stack([\n"
        "            sum(x @ torch.linalg.inv(base) @ x for _ in range(8)) / 8\n"
        "            for x in x_sz\n        ])\n"
    )},
    "worth without utility": {"(u_s[chosen].sum() + beta": "(beta"},
    "worth without beta": {"+ beta * torch.logdet(sigma))": "+ torch.logdet(sigma))"},
    "worth without identity": {"torch.eye(x_sz.shape[1], dtype=torch.float64) + some_nz": (
        "1e-9 * torch.eye(x_sz.shape[1], dtype=torch.float64) + some_nz"
    )},
}  # fmt: skip

MUTANTS = {
    "utility": UTILITY,
    "pair_gain": PAIR_GAIN,
    "boundary": BOUNDARY,
    "rising_round": RISING_ROUND,
    "greedy": GREEDY,
}
