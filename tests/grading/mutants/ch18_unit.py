"""Wrong answers to the exercises of chapter 18."""

TAIL_BOUND = {
    "not renormalised": {"(weight_s @ v_sd) / weight_s.sum()": "(weight_s @ v_sd)"},
    "mean of the kept": {"(weight_s @ v_sd) / weight_s.sum()": "v_sd[kept_s].mean(0)"},
    "squared error": {"(kept_d - dense_d).norm().item()": "(kept_d - dense_d).square().sum().item()"},
    "without 2": {"(2 * longest * dropped).item()": "(longest * dropped).item()"},
    "kept mass": {"dropped = (p_s * ~kept_s).sum()\n    longest": (
        "dropped = (p_s * kept_s).sum()\n    longest"
    )},
    "kept values only": {"longest = v_sd.norm": "longest = v_sd[kept_s].norm"},
    "mean length": {"longest = v_sd.norm(dim=1).max()": "longest = v_sd.norm(dim=1).mean()"},
    "largest entry": {"longest = v_sd.norm(dim=1).max()": "longest = v_sd.abs().max()"},
    "bound first": {"return (kept_d - dense_d).norm().item(), (2 * longest * dropped).item()": (
        "return (2 * longest * dropped).item(), (kept_d - dense_d).norm().item()"
    )},
    "tensors": {"(2 * longest * dropped).item()": "2 * longest * dropped"},
    "the weights are changed": {"weight_s = p_s * kept_s": "weight_s = p_s.mul_(kept_s)"},
    "from 0": {"centred_sd = v_sd - p_s @ v_sd": "centred_sd = v_sd"},
    "from the mean": {"centred_sd = v_sd - p_s @ v_sd": "centred_sd = v_sd - v_sd.mean(0)"},
    "from the kept output": {"centred_sd = v_sd - p_s @ v_sd": (
        "centred_sd = v_sd - (p_s * kept_s) @ v_sd / (p_s * kept_s).sum()"
    )},
    "a radius of half": {"(2 * centred_sd": "(centred_sd"},
}  # fmt: skip

SIGNAL = {
    "noise stays in the signal": {".var().item() - noise / prompts": ".var().item()"},
    "all of it taken off": {"- noise / prompts\n": "- noise\n"},
    "by heads": {"- noise / prompts\n": "- noise / heads\n"},
    "over P H": {"/ ((prompts - 1) * (heads - 1))": "/ (prompts * heads)"},
    "over P H - 1": {"/ ((prompts - 1) * (heads - 1))": "/ (prompts * heads - 1)"},
    "prompts in the noise": {" - x_ph.mean(1, keepdim=True) + x_ph.mean()": ""},
    "mean not put back": {" + x_ph.mean()": ""},
    "prompts for heads": {"x_ph.mean(0).var()": "x_ph.mean(1).var()"},
    "over H": {"x_ph.mean(0).var()": "x_ph.mean(0).var(correction=0)"},
    "noise first": {"return signal, noise": "return noise, signal"},
    "never negative": {"return signal, noise": "return max(signal, 1.0), noise"},
    "spreads": {"return signal, noise": "return abs(signal) ** 0.5, noise**0.5"},
    "with the truth": {"return signal / (signal + noise / prompts)": (
        "return (signal / (signal + noise / prompts)) ** 0.5"
    )},
    "one prompt": {"(signal + noise / prompts)": "(signal + noise)"},
    "root of n": {"(signal + noise / prompts)": "(signal + noise / prompts**0.5)"},
    "n on the signal": {"(signal + noise / prompts)": "(signal * prompts + noise)"},
    "rounded down": {"math.ceil(exact - 1e-9)": "math.floor(exact)"},
    "one more": {"math.ceil(exact - 1e-9)": "math.floor(exact) + 1"},
    "upside down": {"wanted * (1 - one) / (one * (1 - wanted))": (
        "one * (1 - wanted) / (wanted * (1 - one))"
    )},
    "in proportion": {"wanted * (1 - one) / (one * (1 - wanted))": "wanted / one"},
    "any wish": {"if not 0 < wanted < 1:": "if wanted == 1:"},
    "certainty": {"if not 0 < wanted < 1:": "if not 0 < wanted <= 1:"},
}  # fmt: skip

PROMPT_INTERVAL = {
    "prompts weigh equally": {"total_p[draws_bp].sum(1) / count_p[draws_bp].sum(1)": (
        "(total_p / count_p)[draws_bp].mean(1)"
    )},
    "values are drawn": {"return total_p[draws_bp].sum(1) / count_p[draws_bp].sum(1)": (
        "return values_n[draws_bp].mean(1)"
    )},
    "in sorted order": {"index_add_(0, prompt_n, values_n)": (
        "index_add_(0, prompt_n.sort().values, values_n)"
    )},
    "once": {"return total_p[draws_bp].sum(1) / count_p[draws_bp].sum(1)": (
        "some = torch.zeros(len(draws_bp), prompts).scatter(1, draws_bp, 1.0).double()\n"
        "    return some @ total_p / (some @ count_p)"
    )},
    "one prompt forgotten": {"total_p[draws_bp].sum(1) / count_p[draws_bp].sum(1)": (
        "total_p[draws_bp[:, 1:]].sum(1) / count_p[draws_bp[:, 1:]].sum(1)"
    )},
    "over prompts": {"/ count_p[draws_bp].sum(1)": "/ prompts"},
    "over all values": {"/ count_p[draws_bp].sum(1)": "/ len(values_n)"},
    "transposed": {"total_p[draws_bp].sum(1) / count_p[draws_bp].sum(1)": (
        "total_p[draws_bp].sum(0) / count_p[draws_bp].sum(0)"
    )},
    "the argument": {"    prompts = int(prompt_n.max()) + 1": (
        "    values_n -= 0.0 * values_n - 1.0\n    prompts = int(prompt_n.max()) + 1"
    )},
    "rho": {"return 1 + (rows - 1) * alike": "return alike"},
    "m rho": {"return 1 + (rows - 1) * alike": "return 1 + rows * alike"},
    "its root": {"return 1 + (rows - 1) * alike": "return abs(1 + (rows - 1) * alike) ** 0.5"},
    "without m": {"between = rows * values_pm": "between = values_pm"},
    "prompts for rows": {"rows = values_pm.shape[1]": "rows = values_pm.shape[0]"},
    "all values": {"values_pm.var(1).mean()": "values_pm.var()"},
    "over m": {"values_pm.var(1).mean()": "values_pm.var(1, correction=0).mean()"},
    "never below 1": {"return 1 + (rows - 1) * alike": "return max(1.0, 1 + (rows - 1) * alike)"},
    "share of between": {"(between + (rows - 1) * within)": "(between + within)"},
}  # fmt: skip

TABLE_BOUND = {
    "one cell": {"2 * cells / delta) / trials": "2 / delta) / trials"},
    "one side": {"math.log(2 * cells / delta) / trials": "math.log(cells / delta) / trials"},
    "half the range": {"reach * math.sqrt(2 * math": "reach * math.sqrt(0.5 * math"},
    "no root": {"math.sqrt(2 * math.log(2 * cells / delta) / trials)": (
        "(2 * math.log(2 * cells / delta) / trials)"
    )},
    "trials outside": {"math.sqrt(2 * math.log(2 * cells / delta) / trials)": (
        "math.sqrt(2 * math.log(2 * cells / delta)) / trials"
    )},
    "common logarithm": {"math.log(2 * cells / delta) / trials": "math.log10(2 * cells / delta) / trials"},
    "M squared": {"return reach * math.sqrt": "return reach**2 * math.sqrt"},
    "any delta": {"if not 0 < delta < 1:": "if delta == 0:"},
    "delta of 1": {"if not 0 < delta < 1:": "if not 0 < delta <= 1:"},
    "the whole regret": {"error = regret / 2": "error = regret"},
    "a quarter": {"error = regret / 2": "error = regret / 4"},
    "rounded down": {"max(1, math.ceil(exact))": "max(1, math.floor(exact))"},
    "one more": {"max(1, math.ceil(exact))": "math.floor(exact) + 2"},
    "a float": {"max(1, math.ceil(exact))": "max(1.0, exact)"},
    "not squared": {"(reach / error) ** 2": "(reach / error)"},
    "one cell needed": {"exact = 2 * math.log(2 * cells / delta)": "exact = 2 * math.log(2 / delta)"},
    "rows": {"len({prompt for prompt, _ in trials})": "len(set(trials))"},
    "all": {"len({prompt for prompt, _ in trials})": "len(trials)"},
    "distinct rows": {"{prompt for prompt, _ in trials}": "{row for _, row in trials}"},
}  # fmt: skip

RANK_AGREEMENT = {
    "from 0": {"(equal_h + 1).double() / 2": "(equal_h - 1).double() / 2"},
    "smallest place": {"(equal_h + 1).double() / 2": "1"},
    "largest place": {"(equal_h + 1).double() / 2": "equal_h.double()"},
    "ordered ties": {"    below_h = (x_h[None] < x_h[:, None]).sum(1)\n": (
        "    return (x_h.argsort(stable=True).argsort() + 1).double()\n"
        "    below_h = (x_h[None] < x_h[:, None]).sum(1)\n"
    )},
    "descending": {"x_h[None] < x_h[:, None]": "x_h[None] > x_h[:, None]"},
    "whole numbers": {"(equal_h + 1).double() / 2": "((equal_h + 1) // 2).double()"},
    "values": {"ranks(x) - ranks(x).mean()": "x - x.mean()"},
    "not centred": {"ranks(x) - ranks(x).mean()": "ranks(x)"},
    "the sign": {"(a_h @ b_h / (a_h.norm() * b_h.norm())).item()": (
        "(a_h @ b_h / (a_h.norm() * b_h.norm())).abs().item()"
    )},
    "covariance": {"(a_h @ b_h / (a_h.norm() * b_h.norm())).item()": (
        "(a_h @ b_h / len(a_h)).item()"
    )},
    "formula without ties": {"return (a_h @ b_h / (a_h.norm() * b_h.norm())).item()": (
        "n = len(a_h)\n    return 1 - 6 * (a_h - b_h).square().sum().item() / (n * (n * n - 1))"
    )},
    "not stepped up": {"itself.append(2 * half / (1 + half))": "itself.append(half)"},
    "stepped up twice": {"itself.append(2 * half / (1 + half))": "itself.append(3 * half / (1 + 2 * half))"},
    "no root": {"(itself[0] * itself[1]) ** 0.5": "(itself[0] * itself[1])"},
    "first corpus only": {"(itself[0] * itself[1]) ** 0.5": "itself[0]"},
    "mean of both": {"(itself[0] * itself[1]) ** 0.5": "((itself[0] + itself[1]) / 2)"},
    "no correction": {"return between / (itself[0] * itself[1]) ** 0.5": "return between"},
    "first and second half": {"x_ph[::2].mean(0), x_ph[1::2].mean(0)": (
        "x_ph[: len(x_ph) // 2].mean(0), x_ph[len(x_ph) // 2 :].mean(0)"
    )},
    "at most 1": {"return between / (itself[0] * itself[1]) ** 0.5": (
        "return min(0.5, between / (itself[0] * itself[1]) ** 0.5)"
    )},
    "two prompts": {"x_ph[::2].mean(0), x_ph[1::2].mean(0)": "x_ph[0], x_ph[1]"},
}  # fmt: skip

MUTANTS = {
    "tail_bound": TAIL_BOUND,
    "signal": SIGNAL,
    "prompt_interval": PROMPT_INTERVAL,
    "table_bound": TABLE_BOUND,
    "rank_agreement": RANK_AGREEMENT,
}
