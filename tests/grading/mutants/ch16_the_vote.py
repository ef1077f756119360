"""Wrong answers to the exercises of chapter 16."""

COLLISION = {
    "not scaled": {"return rest_hs / rest_hs.sum(1, keepdim=True).clamp_min(1e-12)": "return rest_hs"},
    "the sum with the sinks": {"rest_hs.sum(1, keepdim=True)": "mass_hs.sum(1, keepdim=True)"},
    "no clamp": {".clamp_min(1e-12)": ""},
    "weights clamped": {"return rest_hs / rest_hs": "return rest_hs.clamp_min(1e-12) / rest_hs"},
    "a coarse clamp": {"clamp_min(1e-12)": "clamp_min(1e-6)"},
    "the last keys": {"[:, :sinks] = 0": "[:, len(mass_hs[0]) - sinks:] = 0"},
    "four sinks": {"[:, :sinks] = 0": "[:, :4] = 0"},
    "rows for columns": {"rest_hs[:, :sinks]": "rest_hs[:sinks]"},
    "in place": {"mass_hs.clone()": "mass_hs"},
    "over heads": {"rest_hs.sum(1, keepdim=True)": "rest_hs.sum(0, keepdim=True)"},
    "Shannon": {"-(p_hs.square().sum(1) + 1e-12).log()": "torch.special.entr(p_hs).sum(1)"},
    "bits": {"-(p_hs.square().sum(1) + 1e-12).log()": "-(p_hs.square().sum(1) + 1e-12).log2()"},
    "the sign": {"-(p_hs.square().sum(1) + 1e-12).log()": "(p_hs.square().sum(1) + 1e-12).log()"},
    "no small number": {"+ 1e-12).log()": ").log()"},
    "the norm": {"-(p_hs.square().sum(1) + 1e-12).log()": "-(p_hs.norm(dim=1) + 1e-12).log()"},
    "no order 1": {"    if order == 1:\n        return torch.special.entr(p_hs).sum(1)\n": ""},
    "bits at 1": {"torch.special.entr(p_hs).sum(1)": "torch.special.entr(p_hs).sum(1) / math.log(2)"},
    "no infinity": {"    if order == math.inf:\n        return -p_hs.amax(1).log()\n": ""},
    "infinity is large": {"        return -p_hs.amax(1).log()\n": (
        "        return (p_hs.double() ** 60).sum(1).log() / -59\n"
    )},
    "the least weight": {"-p_hs.amax(1).log()": "-p_hs.amin(1).log()"},
    "all keys": {"torch.where(p_hs > 0, p_hs.pow(order), 0.0)": "p_hs.pow(order)"},
    "the factor": {"/ (1 - order)": "/ (order - 1)"},
    "no factor": {" / (1 - order)": ""},
    "always order 2": {"p_hs.pow(order)": "p_hs.pow(2)"},
    "any order": {"if not order >= 0:": "if False:"},
    "order 0 refused": {"if not order >= 0:": "if not order > 0:"},
}  # fmt: skip

HEAD_VOTE = {
    "vague heads are trusted": {"(-entropy_gr / tau).softmax(1)": "(entropy_gr / tau).softmax(1)"},
    "times tau": {"(-entropy_gr / tau)": "(-entropy_gr * min(tau, 1e6))"},
    "over groups": {"(-entropy_gr / tau).softmax(1)": "(-entropy_gr / tau).softmax(0)"},
    "no temperature": {"(-entropy_gr / tau)": "(-entropy_gr)"},
    "one over the entropy": {"(-entropy_gr / tau).softmax(1)": (
        "(1 / entropy_gr).pow(1 / tau) / (1 / entropy_gr).pow(1 / tau).sum(1, keepdim=True)"
    )},
    "powers that underflow": {"(-entropy_gr / tau).softmax(1)": (
        "(-entropy_gr / tau).exp() / (-entropy_gr / tau).exp().sum(1, keepdim=True)"
    )},
    "no zero": {"    if tau == 0:\n        least_gr = entropy_gr == entropy_gr.amin(1, keepdim=True)\n"
                "        return least_gr / least_gr.sum(1, keepdim=True, dtype=torch.float64)\n": ""},
    "the first of equals": {"least_gr = entropy_gr == entropy_gr.amin(1, keepdim=True)": (
        "least_gr = torch.arange(entropy_gr.shape[1]) == entropy_gr.argmin(1, keepdim=True)"
    )},
    "equals not shared": {"return least_gr / least_gr.sum(1, keepdim=True, dtype=torch.float64)": (
        "return least_gr.double()"
    )},
    "the most vague at zero": {"entropy_gr.amin(1, keepdim=True)": "entropy_gr.amax(1, keepdim=True)"},
    "any tau": {"if not tau >= 0:": "if False:"},
    "NaN": {"if not tau >= 0:": "if tau < 0:"},
    "no tau of zero": {"if not tau >= 0:": "if not tau > 0:"},
    "no fallback": {"torch.where(alike_g[:, None], mass_grs.amax(1), mixed_gs)": "mixed_gs"},
    "fallback for all": {"alike_g[:, None]": "alike_g.any()"},
    "only if all agree": {"alike_g[:, None]": "alike_g.all()"},
    "fallback to the mean": {"mass_grs.amax(1), mixed_gs": "mass_grs.mean(1), mixed_gs"},
    "exactly equal": {"<= same": "<= 0"},
    "coarsely equal": {"<= same": "<= 1e-3"},
    "one pair alike": {"entropy_gr.amax(1) - entropy_gr.amin(1) <= same": (
        "entropy_gr.sort(1).values.diff(dim=1).amin(1) <= same"
    )},
    "mean of heads": {"(vote(entropy_gr, tau)[:, :, None] * mass_grs).sum(1)": "mass_grs.mean(1)"},
    "divided by heads": {"* mass_grs).sum(1)": "* mass_grs).mean(1)"},
    "scaled to the largest": {"torch.where(alike_g[:, None], mass_grs.amax(1), mixed_gs)": (
        "torch.where(alike_g[:, None], mass_grs.amax(1), mixed_gs / mixed_gs.amax(1, keepdim=True))"
    )},
    "half the gap": {"return gap / math.log": "return gap / 2 / math.log"},
    "the vote itself": {"math.log(wanted / (1 - wanted))": "-math.log(1 - wanted)"},
    "upside down": {"return gap / math.log(wanted / (1 - wanted))": (
        "return math.log(wanted / (1 - wanted)) / gap"
    )},
    "a signed gap": {"(entropy_r[0] - entropy_r[1]).abs().item()": "(entropy_r[0] - entropy_r[1]).item()"},
}  # fmt: skip

NEEDLE_BOUND = {
    "what is lost": {"torch.sigmoid(-odds)": "torch.sigmoid(odds)"},
    "sinks are keys": {"math.log(length - sinks)) / tau": "math.log(length)) / tau"},
    "no temperature": {"(eta - math.log(length - sinks)) / tau": "(eta - math.log(length - sinks))"},
    "slack without tau": {"odds = torch.logsumexp(slack_j / tau, 0)": "odds = torch.logsumexp(slack_j, 0)"},
    "the largest slack": {"odds = torch.logsumexp(slack_j / tau, 0)": (
        "odds = torch.cat([slack_j / tau, torch.tensor([-1e9]).double()]).amax(0)"
    )},
    "a mean of others": {"odds = torch.logsumexp(slack_j / tau, 0)": (
        "odds = torch.logsumexp(slack_j / tau, 0) - math.log(max(len(slack_j), 1))"
    )},
    "eta the other way": {"(eta - math.log": "(-eta - math.log"},
    "eta forgotten": {"(eta - math.log": "(-math.log"},
    "powers": {"return (1 - eps) * torch.sigmoid(-odds).item()": (
        "import numpy\n    odds = (slack_j / tau).exp().sum() * (length - sinks) ** (-1 / tau) / "
        "numpy.exp(-eta / tau)\n    return (1 - eps) / (1 + odds).item()"
    )},
    "eps": {"return (1 - eps) * torch.sigmoid": "return eps * torch.sigmoid"},
    "a full needle": {"return (1 - eps) * torch.sigmoid": "return torch.sigmoid"},
    "others only": {"heads = len(slack_j) + 1": "heads = max(len(slack_j), 1)"},
    "a full ceiling": {"(1 - eps) / heads": "1 / heads"},
    "exchanged": {"return (1 - eps) * torch.sigmoid(-odds).item(), (1 - eps) / heads": (
        "return (1 - eps) / heads, (1 - eps) * torch.sigmoid(-odds).item()"
    )},
    "alone is special": {"    odds = torch.logsumexp": (
        "    if heads == 1:\n        return 1.0, 1.0\n    odds = torch.logsumexp"
    )},
    "rounded down": {"math.ceil(math.exp(keys))": "math.floor(math.exp(keys))"},
    "one more": {"math.ceil(math.exp(keys))": "math.ceil(math.exp(keys)) + 1"},
    "no sinks": {"return sinks + max": "return max"},
    "no key": {"max(1, math.ceil(math.exp(keys)))": "math.ceil(math.exp(keys)) - 1"},
    "half the tau": {"keys = eta + tau * (": "keys = eta + tau / 2 * ("},
    "no eta": {"keys = eta + tau": "keys = tau"},
    "a whole needle": {"allowed = math.log((1 - eps) / wanted - 1)": "allowed = math.log(1 / wanted - 1)"},
    "the other way round": {"allowed = math.log((1 - eps) / wanted - 1)": (
        "allowed = -math.log((1 - eps) / wanted - 1)"
    )},
    "equal is enough": {"if not wanted < 1 - eps:": "if wanted > 1 - eps:"},
    "anything": {"if not wanted < 1 - eps:": "if wanted > 1:"},
}  # fmt: skip

OUTVOTED = {
    "rounded up": {"int(1 / score + 1e-9)": "-int(-1 / score // 1)"},
    "a hair below": {"int(1 / score + 1e-9)": "int(1 / score - 1e-9)"},
    "one more": {"int(1 / score + 1e-9)": "int(1 / score + 1e-9) + 1"},
    "only the best head": {"score = (weight_r * needle_r).sum().item()": (
        "score = (weight_r * needle_r).amax().item()"
    )},
    "a mean": {"score = (weight_r * needle_r).sum().item()": "score = needle_r.mean().item()"},
    "the largest": {"score = (weight_r * needle_r).sum().item()": "score = needle_r.max().item()"},
    "nothing is everything": {"if score > 0 else None": "if score > 0 else 0"},
    "no pages as infinity": {"int(1 / score + 1e-9) if score > 0 else None": "int(1 / (score + 1e-30))"},
    "pages alone": {"if weight * (kept + 1) > heads + 1e-9:": "if weight * kept > heads + 1e-9:"},
    "too strict": {"if weight * (kept + 1) > heads + 1e-9:": "if weight * (kept + 1) > heads - weight + 1e-9:"},
    "equal is not enough": {"if weight * (kept + 1) > heads + 1e-9:": "if weight * (kept + 1) >= heads - 1e-9:"},
    "head 0 has nothing": {"left = [1.0 - weight]": "left = [0.0]"},
    "head 0 has all": {"left = [1.0 - weight]": "left = [1.0]"},
    "never refuses": {"if weight * (kept + 1) > heads + 1e-9:": "if False:"},
    "one head a page": {"if left[head] <= 1e-12:\n                head += 1": (
        "if left[head] <= 1e-12 or wanted <= 1e-12:\n                head += 1"
    )},
    "the share of a mean": {"        wanted = weight\n": "        wanted = weight / heads\n"},
    "on the needle's page": {" if first // page != needle // page]": "]"},
    "too few rivals": {"rivals[:kept]": "rivals[: kept - 1]"},
    "nothing is left": {"    rows[:, rivals[0]] += torch.tensor(left, dtype=torch.float64)\n": ""},
    "left on the needle": {"rows[:, rivals[0]] +=": "rows[:, needle] +="},
    "rivals within a page": {"range(0, length, page) if": "range(0, length) if"},
    "another head": {"rows[0, needle] = weight": "rows[1, needle] = weight"},
    "float32": {"    return rows\n": "    return rows.float()\n"},
}  # fmt: skip

MUTANTS = {
    "collision": COLLISION,
    "head_vote": HEAD_VOTE,
    "needle_bound": NEEDLE_BOUND,
    "outvoted": OUTVOTED,
}
