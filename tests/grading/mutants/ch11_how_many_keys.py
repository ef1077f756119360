"""Wrong answers to the exercises of chapter 11."""

MASS_COUNT = {
    "one too many": {"(light_first.cumsum(0) > eta).sum())": "(light_first.cumsum(0) > eta).sum()) + 1"},
    "one too few": {"(light_first.cumsum(0) > eta).sum())": "(light_first.cumsum(0) > eta).sum()) - 1"},
    "all that may go": {"light_first.cumsum(0) > eta": "light_first.cumsum(0) <= eta"},
    "from the heavy end": {"return int((light_first.cumsum(0) > eta).sum())": (
        "return int((light_first.flip(0).cumsum(0) < 1 - eta).sum()) + 1"
    )},
    "the mass held": {"> eta).sum()": "> 1 - eta).sum()"},
    "unsorted": {"logits_s.softmax(0).sort().values": "logits_s.softmax(0)"},
    "heavy first": {".sort().values": ".sort(descending=True).values"},
    "at least eta": {"> eta).sum()": ">= eta).sum()"},
    "overflow": {"logits_s.softmax(0).sort()": "(logits_s.exp() / logits_s.exp().sum()).sort()"},
    "float32": {"logits_s.softmax(0).sort()": "logits_s.float().softmax(0).sort()"},
    "a tensor": {"return int((light_first.cumsum(0) > eta).sum())": (
        "return (light_first.cumsum(0) > eta).sum()"
    )},
    "any share": {"if not 0 <= eta < 1:": "if False:"},
    "one is legal": {"if not 0 <= eta < 1:": "if not 0 <= eta <= 1:"},
    "zero is not": {"if not 0 <= eta < 1:": "if not 0 < eta < 1:"},
    "negative is": {"if not 0 <= eta < 1:": "if not eta < 1:"},
    "all keys are visible": {"int(logits_s.isfinite().sum())": "len(logits_s)"},
    "underflow is invisible": {"logits_s.isfinite().sum()": "(logits_s.softmax(0) > 0).sum()"},
    "base two": {"math.log(visible)": "math.log2(visible)"},
    "base ten": {"math.log(visible)": "math.log10(visible)"},
    "above one in n": {"1 / math.log(visible)": "1 / visible"},
    "a share of the largest": {"(logits_s.softmax(0) >= 1 / math.log(visible))": (
        "(logits_s.softmax(0) >= logits_s.softmax(0).max() / math.log(visible))"
    )},
    "light ones": {">= 1 / math.log": "< 1 / math.log"},
}  # fmt: skip

REGIMES = {
    "ranks from 0": {"torch.arange(1, len(gap_s) + 1, dtype=torch.float64)": (
        "torch.arange(0, len(gap_s), dtype=torch.float64).clamp_min(1)"
    )},
    "ranks from 2": {"torch.arange(1, len(gap_s) + 1,": "torch.arange(2, len(gap_s) + 2,"},
    "exchanged": {"return float(-over.min()), float(over.max())": (
        "return float(over.max()), float(-over.min())"
    )},
    "the sign of below": {"float(-over.min())": "float(over.min())"},
    "the ends": {"float(-over.min()), float(over.max())": "float(-over[-1]), float(over[-1])"},
    "base two": {"ranks.log()": "ranks.log2()"},
    "no slope": {"gap_s - gamma * ranks.log()": "gap_s - ranks.log()"},
    "above for both": {"below, _ = offsets(gap_s, gamma)": "_, below = offsets(gap_s, gamma)"},
    "below for both": {"_, above = offsets(gap_s, gamma)": "above, _ = offsets(gap_s, gamma)"},
    "no offset": {"math.exp(below)": "1.0"},
    "rounded down": {"max(1, math.ceil(bound))": "max(1, int(bound))"},
    "below one": {"max(1, math.ceil(bound))": "math.floor(bound)"},
    "the worst bound": {"return min(bounds)": "return max(bounds)"},
    "the first bound": {"return min(bounds)": "return bounds[0]"},
    "the last bound": {"return min(bounds)": "return bounds[-1]"},
    "no power": {" ** (1 / (gamma - 1))": ""},
    "gamma for gamma - 1": {"(eta * (gamma - 1))": "(eta * gamma)"},
    "eta outside": {"(math.exp(below) / (eta * (gamma - 1))) ** (1 / (gamma - 1))": (
        "(math.exp(below) / (gamma - 1)) ** (1 / (gamma - 1)) / eta"
    )},
    "one is steep": {"min(gammas) <= 1:": "min(gammas) < 1:"},
    "only the first is checked": {"min(gammas) <= 1:": "gammas[0] <= 1:"},
    "an empty list": {"if not gammas or min(gammas) <= 1:": "if gammas and min(gammas) <= 1:"},
    "the weakest": {"return max(bounds)": "return min(bounds)"},
    "S for S + 1": {"(len(gap_s) + 1) ** power": "len(gap_s) ** power"},
    "without the 1": {"(len(gap_s) + 1) ** power - 1) / power": "(len(gap_s) + 1) ** power) / power"},
    "a float": {"math.ceil((1 - eta) * all_keys)": "(1 - eta) * all_keys"},
    "truncated": {"math.ceil((1 - eta) * all_keys)": "int((1 - eta) * all_keys)"},
    "eta of all": {"(1 - eta) * all_keys": "eta * all_keys"},
    "zero is illegal": {"0 <= min(gammas)": "0 < min(gammas)"},
    "negative is legal": {"0 <= min(gammas) and ": ""},
    "one is flat": {"max(gammas) < 1)": "max(gammas) <= 1)"},
}  # fmt: skip

GAUSSIAN_ROWS = {
    "plus sigma": {"NORMAL.inv_cdf(1 - eta) - sigma": "NORMAL.inv_cdf(1 - eta) + sigma"},
    "sigma squared": {"NORMAL.inv_cdf(1 - eta) - sigma": "NORMAL.inv_cdf(1 - eta) - sigma**2"},
    "half sigma squared": {"NORMAL.inv_cdf(1 - eta) - sigma": "NORMAL.inv_cdf(1 - eta) - sigma**2 / 2"},
    "eta is held": {"NORMAL.cdf(NORMAL.inv_cdf(1 - eta) - sigma)": (
        "NORMAL.cdf(NORMAL.inv_cdf(eta) - sigma)"
    )},
    "what may go": {"return NORMAL.cdf(NORMAL.inv_cdf(1 - eta) - sigma)": (
        "return 1 - NORMAL.cdf(NORMAL.inv_cdf(1 - eta) - sigma)"
    )},
    "divided": {"NORMAL.cdf(NORMAL.inv_cdf(1 - eta) - sigma)": (
        "NORMAL.cdf(NORMAL.inv_cdf(1 - eta) / (1 + sigma))"
    )},
    "the other way round": {"NORMAL.inv_cdf(1 - eta) - NORMAL.inv_cdf(share)": (
        "NORMAL.inv_cdf(share) - NORMAL.inv_cdf(1 - eta)"
    )},
    "a negative sigma": {"max(0.0, NORMAL.inv_cdf(1 - eta) - NORMAL.inv_cdf(share))": (
        "NORMAL.inv_cdf(1 - eta) - NORMAL.inv_cdf(share)"
    )},
    "its size": {"max(0.0, NORMAL.inv_cdf(1 - eta) - NORMAL.inv_cdf(share))": (
        "abs(NORMAL.inv_cdf(1 - eta) - NORMAL.inv_cdf(share))"
    )},
    "eta for the budget": {"NORMAL.inv_cdf(share)": "NORMAL.inv_cdf(eta)"},
    "any budget": {"if not 0 < share < 1:": "if False:"},
    "a budget of nothing": {"if not 0 < share < 1:": "if not 0 <= share < 1:"},
    "a budget of all": {"if not 0 < share < 1:": "if not 0 < share <= 1:"},
    "no sink": {"eta / (1 - sink)": "eta"},
    "times": {"eta / (1 - sink)": "eta * (1 - sink)"},
    "by the sink": {"eta / (1 - sink)": "eta / sink if sink else eta"},
    "the sink goes, too": {"eta / (1 - sink)": "eta + sink"},
    "the rest of the rest": {"eta / (1 - sink)": "(eta - sink) / (1 - sink) if eta > sink else eta"},
    "all of the others": {"0.0 if missing >= 1": "1.0 if missing >= 1"},
    "exactly enough": {"if missing >= 1 else": "if missing > 1 else"},
    "a sink is never enough": {"0.0 if missing >= 1 else share_needed(sigma, missing)": (
        "share_needed(sigma, min(missing, 0.999))"
    )},
}  # fmt: skip

CROSSING = {
    "one length": {"square_n = (delta_nd**2).sum(1)": "square_n = (delta_nd**2).sum(1).sqrt()"},
    "of the output itself": {"away_nd = output_nd - background_nd": "away_nd = output_nd"},
    "from the signal": {"away_nd = output_nd - background_nd": "away_nd = output_nd - signal_nd"},
    "backwards": {"delta_nd = signal_nd - background_nd": "delta_nd = background_nd - signal_nd"},
    "along and across": {"away_nd - w_n[:, None] * delta_nd": "away_nd"},
    "not squared": {"(residual_nd**2).sum(1) / square_n": "((residual_nd**2).sum(1) / square_n).sqrt()"},
    "own units": {"(residual_nd**2).sum(1) / square_n": "(residual_nd**2).sum(1)"},
    "a cosine": {"w_n = (away_nd * delta_nd).sum(1) / square_n": (
        "w_n = (away_nd * delta_nd).sum(1) / (square_n * (away_nd**2).sum(1)).sqrt()"
    )},
    "no residual": {"((alpha - w_n) ** 2 + size_n)": "((alpha - w_n) ** 2)"},
    "mean first": {"((alpha - w_n) ** 2 + size_n).mean()": "((alpha - w_n.mean()) ** 2 + size_n.mean())"},
    "sums": {"((alpha - w_n) ** 2 + size_n).mean()": "((alpha - w_n) ** 2 + size_n).sum()"},
    "rooted": {"((alpha - w_n) ** 2 + size_n).mean()": "((alpha - w_n) ** 2 + size_n).mean().sqrt()"},
    "residual subtracted": {"(alpha - w_n) ** 2 + size_n": "(alpha - w_n) ** 2 - size_n"},
    "the midpoint": {"constant / (2 * ahead)": "(w_e.mean() + w_s.mean()) / 2"},
    "no variance": {"(w_s**2 + size_s).mean() - (w_e**2 + size_e).mean()": (
        "w_s.mean() ** 2 + size_s.mean() - w_e.mean() ** 2 - size_e.mean()"
    )},
    "no residuals": {"(w_s**2 + size_s).mean() - (w_e**2 + size_e).mean()": (
        "(w_s**2).mean() - (w_e**2).mean()"
    )},
    "the wrong way": {"(w_s**2 + size_s).mean() - (w_e**2 + size_e).mean()": (
        "(w_s**2 - size_s).mean() - (w_e**2 - size_e).mean()"
    )},
    "a factor of two": {"constant / (2 * ahead)": "constant / ahead"},
    "exchanged": {"(w_e, size_e), (w_s, size_s) = exact, sparse": (
        "(w_s, size_s), (w_e, size_e) = exact, sparse"
    )},
    "row by row": {"return float(constant / (2 * ahead))": (
        "return float(((w_s**2 + size_s - w_e**2 - size_e) / (2 * (w_s - w_e))).mean())"
    )},
    "always a crossing": {"if ahead <= 0:": "if False:"},
    "equal means": {"if ahead <= 0:": "if ahead < 0:"},
    "in every row": {"if ahead <= 0:": "if (w_s.min() <= w_e.max()):"},
    "within 0 and 1": {"return float(constant / (2 * ahead))": (
        "return float((constant / (2 * ahead)).clamp(0, 1))"
    )},
}  # fmt: skip

OUTPUT_COUNT = {
    "unstable order": {"p_s.argsort(descending=True, stable=True)": "p_s.argsort(stable=True).flip(0)"},
    "lightest first": {"p_s.argsort(descending=True, stable=True)": "p_s.argsort(stable=True)"},
    "the order of the row": {"p_s.argsort(descending=True, stable=True)": "torch.arange(len(p_s))"},
    "not renormalised": {"away_sd.cumsum(0).norm(dim=1) / p_s.cumsum(0)": (
        "((p_s[:, None] * v_sd).cumsum(0) - p_s @ v_sd).norm(dim=1)"
    )},
    "no division": {" / p_s.cumsum(0)": ""},
    "by the count": {" / p_s.cumsum(0)": " / torch.arange(1, len(p_s) + 1)"},
    "by the dropped mass": {" / p_s.cumsum(0)": " / (1 - p_s.cumsum(0) + 1e-300)"},
    "lengths are summed": {"away_sd.cumsum(0).norm(dim=1)": "away_sd.norm(dim=1).cumsum(0)"},
    "a plain mean": {"(v_sd - p_s @ v_sd)": "(v_sd - v_sd.mean(0))"},
    "one pass a count": {"return away_sd.cumsum(0).norm(dim=1) / p_s.cumsum(0)": (
        "return torch.stack([away_sd[:k].sum(0).norm() / p_s[:k].sum() for k in range(1, len(p_s) + 1)])"
        "[: 20_000]"
    )},
    "float32": {"away_sd.cumsum(0).norm(dim=1)": "away_sd.float().cumsum(0).norm(dim=1).double()"},
    "safe is first": {"return int(good.nonzero()[0]) + 1, safe": (
        "return int(good.nonzero()[0]) + 1, int(good.nonzero()[0]) + 1"
    )},
    "counted from 0": {"return int(good.nonzero()[0]) + 1, safe": (
        "return int(good.nonzero()[0]), safe - 1"
    )},
    "the last bad one": {"int(bad[-1]) + 2": "int(bad[-1]) + 1"},
    "after the first bad one": {"int(bad[-1]) + 2": "int(bad[0]) + 2"},
    "rounding is an error": {"    good[-1] = True  # all keys: no error but rounding\n": (
        "    good[-1] = False\n"
    )},
    "how many are good": {"return int(good.nonzero()[0]) + 1, safe": (
        "return int(good.nonzero()[0]) + 1, len(p_s) - int(good.sum()) + 1"
    )},
    "exchanged": {"return int(good.nonzero()[0]) + 1, safe": (
        "return safe, int(good.nonzero()[0]) + 1"
    )},
    "one never suffices": {"int(bad[-1]) + 2 if len(bad) else 1": (
        "int(bad[-1]) + 2 if len(bad) else 2"
    )},
    "radius, not diameter": {"(2 * radius * dropped <= tolerance)": "(radius * dropped <= tolerance)"},
    "from the origin": {"(v_sd - mu_d).norm(dim=1).max()": "v_sd.norm(dim=1).max()"},
    "the mean distance": {"norm(dim=1).max()": "norm(dim=1).mean()"},
    "one too few": {"return len(p_s) - int(": "return len(p_s) - 1 - int("},
    "what may go": {"return len(p_s) - int(": "return int("},
    "heavy ones go": {"light_first = p_s.sort().values": "light_first = p_s.sort(descending=True).values"},
    "all may go": {"light_first.cumsum(0)[:-1]": "light_first.cumsum(0)"},
    "unsorted": {"light_first = p_s.sort().values": "light_first = p_s"},
}  # fmt: skip

MUTANTS = {
    "mass_count": MASS_COUNT,
    "regimes": REGIMES,
    "gaussian_rows": GAUSSIAN_ROWS,
    "crossing": CROSSING,
    "output_count": OUTPUT_COUNT,
}
