"""Wrong answers to the exercises of chapter 05."""

CLOSURE = {
    "the share that remains": {"1 - least_error / divisor": "least_error / divisor"},
    "a difference": {"1 - least_error / divisor": "top_error - least_error"},
    "the ratio minus 1": {"1 - least_error / divisor": (
        "top_error / least_error.clamp_min(1e-300) - 1"
    )},
    "divided by the least error": {"1 - least_error / divisor": (
        "(top_error - least_error) / torch.where(least_error > 0, least_error, 1.0)"
    )},
    "0 / 0": {"return torch.where(top_error > 0, 1 - least_error / divisor, 0.0)": (
        "return 1 - least_error / top_error"
    )},
    "all to be won where there is no error": {"least_error / divisor, 0.0)": "least_error / divisor, 1.0)"},
    "an epsilon": {"least_error / divisor": "least_error / (divisor + 1e-8)"},
    "no error is headroom": {"(top_error > 0) & ": ""},
    "a ratio of 1.11": {"least_error <= 0.9 * top_error": "top_error >= 1.11 * least_error"},
    "a ratio of 1.1": {"least_error <= 0.9 * top_error": "top_error >= 1.1 * least_error"},
    "strictly more than a tenth": {"least_error <= 0.9 * top_error": "least_error < 0.9 * top_error"},
    "a tenth by itself": {"least_error <= 0.9 * top_error": "top_error - least_error >= 0.1"},
    "the lower of two in the middle": {"share.quantile(0.5)": "share.median()"},
    "the mean for the median": {"share.quantile(0.5)": "share.mean()"},
    "the median share for the ratio": {"return 1 / (1 - middle)": "return middle"},
    "the median for the mean": {"share.mean().item()": "middle"},
    "only rows with an error": {"share.mean().item()": "share[top_error > 0].mean().item()"},
    "counts": {".double().mean().item()": ".double().sum().item()"},
    "headroom among rows with an error": {"has_headroom(least_error, top_error).double()": (
        "has_headroom(least_error, top_error)[top_error > 0].double()"
    )},
    "a mean of ratios": {"return 1 / (1 - middle)": "return (1 / (1 - share)).mean().item()"},
    "tensors": {"share.mean().item()": "share.mean()"},
}  # fmt: skip

PREDICTORS = {
    "kept mass": {": p.shape[-1] - size]": "p.shape[-1] - size :]"},
    "subtracted from 1": {"return p.sort(dim=-1).values[..., : p.shape[-1] - size].sum(-1)": (
        "return 1 - p.sort(dim=-1).values[..., p.shape[-1] - size :].sum(-1)"
    )},
    "subtracted from 1, not below 0": {"return p.sort(dim=-1).values[..., : p.shape[-1] - size].sum(-1)": (
        "return (1 - p.sort(dim=-1).values[..., p.shape[-1] - size :].sum(-1)).clamp_min(0)"
    )},
    "the first keys kept": {"p.sort(dim=-1).values[..., : p.shape[-1] - size]": "p[..., size:]"},
    "one key too few": {": p.shape[-1] - size]": ": p.shape[-1] - size + 1]"},
    "along the wrong axis": {"p.sort(dim=-1)": "p.sort(dim=0)"},
    "entropy": {"1 / p.square().sum(-1)": "torch.special.entr(p).sum(-1).exp()"},
    "entropy in bits": {"1 / p.square().sum(-1)": (
        "torch.exp2(-(p * p.clamp_min(1e-300).log2()).sum(-1))"
    )},
    "the logarithm of zero": {"1 / p.square().sum(-1)": "torch.exp(-(p * p.log()).sum(-1))"},
    "the largest weight": {"p.square().sum(-1)": "p.max(-1).values"},
    "a count": {"1 / p.square().sum(-1)": "(p > 1e-6).sum(-1).double()"},
    "the root": {"1 / p.square().sum(-1)": "1 / p.norm(dim=-1)"},
    "not inverted": {"1 / p.square().sum(-1)": "p.square().sum(-1)"},
    "relative to the length": {"1 / p.square().sum(-1)": "1 / p.square().sum(-1) / p.shape[-1]"},
    "of all rows": {"p.square().sum(-1)": "p.square().sum()[None].expand(p.shape[:-1])"},
    "the mean decides": {"rows.quantile(0.5) > limit": "rows.mean() > limit"},
    "any row decides": {"rows.quantile(0.5) > limit": "rows.max() > limit"},
    "most rows decide": {"rows.quantile(0.5) > limit": "rows.median() > limit"},
    "the limit left at a quarter": {"> limit\n": "> 0.25\n"},
    "all rows together": {"rows = mass[cell == c]": "rows = mass"},
    "a cell without rows is flat": {"torch.zeros(cells, dtype=torch.bool)": "torch.ones(cells, dtype=torch.bool)"},
    "a cell without rows is nan": {"        if len(rows):\n            flat[c]": "        if True:\n            flat[c]"},
    "only cells that occur": {"range(cells)": "range(int(cell.max()))"},
    "sharp cells": {"> limit\n": "< limit\n"},
}  # fmt: skip

AUC = {
    "negatives above positives": {"return wins / (positives * negatives)": (
        "return 1 - wins / (positives * negatives)"
    )},
    "ties lost": {"(below + not_above)": "(below + below)"},
    "ties won": {"(below + not_above)": "(not_above + not_above)"},
    "all pairs of rows": {"wins / (positives * negatives)": "wins / (len(label) ** 2 / 4)"},
    "half of the wins": {".item() / 2": ".item() / 4"},
    "a count": {"return wins / (positives * negatives)": "return wins"},
    "ranks in order of appearance": {
        "wins = (below + not_above).double().sum().item() / 2": (
            "ranks = score.argsort(stable=True).argsort() + 1.0\n"
            "    wins = ranks[label].double().sum().item() - positives * (positives + 1) / 2"
        ),
    },
    "not sorted": {"score[~label].sort().values": "score[~label].contiguous()"},
    "every pair for itself": {
        "wins = (below + not_above).double().sum().item() / 2": (
            "up = score[label][:, None] - others\n"
            "    wins = ((up > 0).double() + 0.5 * (up == 0)).sum().item()"
        ),
    },
    "counted in float32": {".double().sum().item() / 2": ".float().cumsum(0)[-1].item() / 2",
                           "(below + not_above)": "(below.float() + not_above.float())"},
    "accuracy at the median": {"return wins / (positives * negatives)": (
        "return ((score > score.median()) == label).double().mean().item()"
    )},
    "correlation": {"return wins / (positives * negatives)": (
        "return torch.corrcoef(torch.stack([score, label.double()]))[0, 1].item()"
    )},
    "one kind is 1/2": {"if not positives or not negatives:": (
        "if not positives or not negatives:\n        return 0.5\n    if False:"
    )},
    "no negatives accepted": {"if not positives or not negatives:": "if not positives:",
                              "wins / (positives * negatives)": "wins / max(positives * negatives, 1)"},
    "the largest AUC": {"abs(value - 0.5)": "value"},
    "the smallest AUC": {"abs(value - 0.5)": "-value"},
    "not turned round": {"max(values[best], 1 - values[best])": "values[best]"},
    "the distance": {"max(values[best], 1 - values[best])": "distances[best]"},
    "never down": {", values[best] < 0.5": ", False"},
    "up for down": {", values[best] < 0.5": ", values[best] > 0.5"},
    "the last of equals": {"next(i for i, x in enumerate(distances) if": (
        "max(i for i, x in enumerate(distances) if"
    )},
}  # fmt: skip

SUBSTITUTION_CAP = {
    "the normal interval": {"return (2 * share + extra + root) / (2 * (1 + extra))": (
        "return share + z * math.sqrt(share * (1 - share) / trials)"
    )},
    "the share": {"return (2 * share + extra + root) / (2 * (1 + extra))": "return share"},
    "the centre": {"share + extra + root)": "share + extra)"},
    "the lower end": {"extra + root)": "extra - root)"},
    "one-sided": {"inv_cdf((1 + level) / 2)": "inv_cdf(level)"},
    "z rounded": {"z = NormalDist().inv_cdf((1 + level) / 2)": "z = 2.0"},
    "z of one level only": {"z = NormalDist().inv_cdf((1 + level) / 2)": "z = 1.959963984540054"},
    "z not squared": {"extra = z * z / trials": "extra = z / trials"},
    "the rule of three": {"share = successes / trials": (
        "share = successes / trials\n    if successes == 0:\n        return 3 / trials"
    )},
    "capped below 1": {"return (2 * share": "return min(0.999, share) if share == 1 else (2 * share"},
    "more successes than trials": {"0 <= successes <= trials": "0 <= successes"},
    "negative successes": {"0 <= successes <= trials": "successes <= trials"},
    "the quantile below the middle": {"0.5 + fraction)": "0.5 - fraction)"},
    "the quantile from the top": {"values.quantile(0.5 + fraction)": "values.quantile(1 - fraction)"},
    "half of the fraction": {"0.5 + fraction)": "0.5 + fraction / 2)"},
    "the fraction added to the median": {"values.quantile(0.5 + fraction)": "(values.quantile(0.5) + fraction)"},
    "no interpolation": {"quantile(0.5 + fraction)": "quantile(0.5 + fraction, interpolation='lower')"},
    "not sorted": {"values.quantile(0.5 + fraction).item()": (
        "values[round((0.5 + fraction) * (len(values) - 1))].item()"
    )},
    "fractions not refused": {"if not 0 <= fraction < 0.5:": "if False:",
                              "0.5 + fraction)": "min(1.0, max(0.0, 0.5 + fraction)))"},
    "one half accepted": {"fraction < 0.5:": "fraction <= 0.5:"},
    "unsolved left out": {"improved + unsolved, solved + unsolved": "improved, solved"},
    "unsolved not improved": {"improved + unsolved, solved": "improved, solved"},
    "unsolved no trials": {"solved + unsolved)": "solved)"},
    "the sample's share": {"fraction = wilson_upper(improved + unsolved, solved + unsolved)": (
        "fraction = (improved + unsolved) / (solved + unsolved)"
    )},
}  # fmt: skip

ROWS = "generator.integers(len(values), size=len(values))"
BOOTSTRAP = {
    "rows resampled": {
        "medians.append(np.median(np.concatenate([members[i] for i in picks])))": (
            f"medians.append(np.median(values[{ROWS}]))"
        ),
    },
    "rows of drawn documents resampled again": {"np.concatenate([members[i] for i in picks])": (
        "generator.choice(np.concatenate([members[i] for i in picks]), len(values))"
    )},
    "each document once": {"[members[i] for i in picks]": "[members[i] for i in set(picks)]"},
    "a median of medians": {"np.concatenate([members[i] for i in picks])": (
        "[np.median(members[i]) for i in picks]"
    )},
    "a mean of medians": {"np.median(np.concatenate([members[i] for i in picks]))": (
        "np.mean([np.median(members[i]) for i in picks])"
    )},
    "means": {"np.median": "np.mean"},
    "the mean of the resamples": {"float(np.median(values)), float(low)": "float(np.mean(medians)), float(low)"},
    "a normal interval": {"low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])": (
        "low, high = np.median(values) + np.array([-1.96, 1.96]) * np.std(medians)"
    )},
    "one-sided": {"[(1 - level) / 2, (1 + level) / 2]": "[1 - level, level]"},
    "always 95%": {"(1 - level) / 2, (1 + level) / 2": "0.025, 0.975"},
    "reversed": {"low, high = np.quantile(medians": "high, low = 2 * np.median(values) - np.quantile(medians"},
    "labels for positions": {"members = [values[documents == label] for label in labels]": (
        "members = [values[documents == label] for label in dict.fromkeys(documents.tolist())]"
    )},
    "labels taken for 0, 1, 2": {"[values[documents == label] for label in labels]": (
        "[values[documents == label] for label in range(len(labels))]"
    ), "np.median(np.concatenate([members[i] for i in picks]))": (
        "np.nan_to_num(np.median(np.concatenate([members[i] for i in picks] + [[0.0]])))"
    )},
    "a seed of its own": {"default_rng(seed)": "default_rng(0)"},
    "a new generator for each resample": {
        "        picks = generator": "        picks = np.random.default_rng(seed)",
    },
    "always a thousand": {"range(resamples)": "range(1000)"},
    "one document fewer": {"size=len(labels))": "size=len(labels) - 1)"},
    "without replacement": {"generator.integers(len(labels), size=len(labels))": (
        "generator.permutation(len(labels))"
    )},
    "NumPy floats": {"float(np.median(values)), float(low), float(high)": (
        "np.median(values), low, high"
    )},
    "one document accepted": {"if len(labels) < 2:": "if len(labels) < 1:"},
    "the median of the differences": {"np.median(first[drawn]) - np.median(second[drawn])": (
        "np.median(first[drawn] - second[drawn])"
    )},
    "not paired": {"np.median(second[drawn]))": (
        "np.median(second[np.concatenate([rows[i] for i in generator.integers("
        "len(labels), size=len(labels))])]))"
    )},
    "the difference of two intervals": {"        differences.append(np.median(first[drawn]) - np.median(second[drawn]))": (
        "        differences.append(np.median(first[drawn]) - np.median(second))"
    )},
    "second minus first": {
        "np.median(first[drawn]) - np.median(second[drawn])": (
            "np.median(second[drawn]) - np.median(first[drawn])"
        ),
        "np.median(first) - np.median(second)": "np.median(second) - np.median(first)",
    },
}  # fmt: skip

MUTANTS = {
    "closure": CLOSURE,
    "predictors": PREDICTORS,
    "auc": AUC,
    "substitution_cap": SUBSTITUTION_CAP,
    "bootstrap_over_documents": BOOTSTRAP,
}
