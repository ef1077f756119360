"""Wrong answers to the exercises of chapter 09."""

WIN_TIE_LOSS = {
    "questions counted": {
        "np.unique(documents, return_inverse=True)": (
            "np.unique(np.arange(len(documents)), return_inverse=True)"
        ),
    },
    "sums, not means": {"means = sums / np.bincount(of_question)": "means = sums"},
    "medians": {"means = sums / np.bincount(of_question)": (
        "means = np.array([np.median((ours - theirs)[documents == x]) for x in labels])"
    )},
    "the majority of questions": {"means = sums / np.bincount(of_question)": (
        "means = np.bincount(of_question, np.sign(ours - theirs)) / np.bincount(of_question)"
    )},
    "turned round": {"ours - theirs": "theirs - ours"},
    "no slack": {" + 1e-12": "", " - 1e-12": ""},
    "a slack too wide": {"1e-12": "1e-2"},
    "labels taken for 0, 1, 2": {
        "np.bincount(of_question, ours - theirs)": "np.bincount(documents, ours - theirs)",
        "np.bincount(of_question)": "np.bincount(documents).clip(1)",
        "len(labels) - wins": "len(means) - wins",
    },
    "the margin wins": {"means > margin + 1e-12": "means >= margin - 1e-12"},
    "margin on one side": {"means < -margin - 1e-12": "means < -1e-12"},
    "margin ignored": {"margin + 1e-12": "1e-12", "-margin - 1e-12": "-1e-12"},
    "negative margins accepted": {"if margin < 0:": "if False:"},
    "NumPy integers": {"int((means > margin + 1e-12).sum())": "(means > margin + 1e-12).sum()"},
    "no ties": {"len(labels) - wins - losses, losses": "0, len(labels) - wins"},
    "one tail": {"min(2 * tail, 2**n)": "tail"},
    "above 1": {"min(2 * tail, 2**n)": "(2 * tail)"},
    "the observed left out": {"range(max(wins, losses), n + 1)": "range(max(wins, losses) + 1, n + 1)"},
    "the last left out": {"n + 1))": "n))"},
    "the wins' tail": {"max(wins, losses)": "wins"},
    "the chance of just these": {"range(max(wins, losses), n + 1)": "[max(wins, losses)]"},
    "in floats": {"min(2 * tail, 2**n) / 2**n": "min(1.0, 2 * float(tail) * 0.5**n)"},
    "the normal curve": {"min(2 * tail, 2**n) / 2**n": (
        "math.erfc(abs(wins - losses) / math.sqrt(2 * max(n, 1)))"
    )},
    "nothing proves something": {"n = wins + losses": (
        "n = wins + losses\n    if not n:\n        return 0.0"
    )},
}  # fmt: skip

EACH = "np.unique(np.arange(len(documents)), return_inverse=True)"
PAIRED_INTERVAL = {
    "questions resampled": {
        "if len(labels) < 2:": f"of_labels = labels\n    labels, of_question = {EACH}\n    if len(of_labels) < 2:",
    },
    "documents weigh the same": {"sums[picks].sum() / counts[picks].sum()": (
        "(sums / counts)[picks].mean()"
    )},
    "the estimate over documents": {"float((ours - theirs).mean())": "float((sums / counts).mean())"},
    "divided by all questions": {"counts[picks].sum()": "counts.sum()"},
    "each document once": {"        means.append": "        picks = np.unique(picks)\n        means.append"},
    "not paired": {"sums[picks].sum() / counts[picks].sum()": (
        "(np.bincount(of_question, ours)[picks].sum() / counts[picks].sum()"
        " - np.bincount(of_question, theirs)[picks[::-1]].sum() / counts[picks[::-1]].sum()"
        " + np.bincount(of_question, theirs)[(picks + 1) % len(labels)].mean() * 0.1)"
    )},
    "turned round": {"ours - theirs": "theirs - ours"},
    "the mean of the resamples": {"float((ours - theirs).mean())": "float(np.mean(means))"},
    "a normal interval": {"low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])": (
        "low, high = np.mean(means) + np.array([-1.96, 1.96]) * np.std(means)"
    )},
    "one-sided": {"[(1 - level) / 2, (1 + level) / 2]": "[1 - level, level]"},
    "always 95%": {"(1 - level) / 2, (1 + level) / 2": "0.025, 0.975"},
    "always a thousand": {"range(resamples)": "range(1000)"},
    "a seed of its own": {"default_rng(seed)": "default_rng(0)"},
    "one document fewer": {"size=len(labels))": "size=len(labels) - 1)"},
    "without replacement": {"generator.integers(len(labels), size=len(labels))": (
        "generator.permutation(len(labels))"
    )},
    "order of appearance": {"np.unique(documents, return_inverse=True)": (
        "list(dict.fromkeys(documents.tolist())), "
        "np.array([list(dict.fromkeys(documents.tolist())).index(x) for x in documents])"
    )},
    "one document accepted": {"if len(labels) < 2:": "if len(labels) < 1:"},
    "B without m": {"between = m * ": "between = "},
    "variance over C": {".mean(1).var(ddof=1)": ".mean(1).var()"},
    "variance over m": {"var(axis=1, ddof=1)": "var(axis=1)"},
    "the whole variance within": {"values_cm.var(axis=1, ddof=1).mean()": "values_cm.var(ddof=1)"},
    "the wrong axis": {"values_cm.mean(1)": "values_cm.mean(0)", "axis=1": "axis=0"},
    "a share of variance": {"total = between + (m - 1) * within": "total = between + within"},
    "negative estimates": {"max(0.0, float((between - within) / total))": (
        "float((between - within) / total)"
    )},
    "constant values are one": {" if total > 0 else 0.0": " if total > 0 else 1.0"},
    "0 / 0": {"max(0.0, float((between - within) / total)) if total > 0 else 0.0": (
        "float(np.maximum((between - within) / total, 0.0))"
    )},
    "m questions, not m - 1": {"effect = 1 + (m - 1) * rho": "effect = 1 + m * rho"},
    "the root of the effect": {"effect = 1 + (m - 1) * rho": "effect = (1 + (m - 1) * rho) ** 0.5"},
    "documents over the effect": {"values_cm.size / effect": "len(values_cm) / effect"},
    "shapes not looked at": {"min(values_cm.shape) < 2": "False"},
    "single questions accepted": {"min(values_cm.shape) < 2": "len(values_cm) < 2"},
}  # fmt: skip

SIGN_FLIP = {
    "questions turned": {
        "np.unique(documents, return_inverse=True)\n    sums = np.bincount(of_question, differences)\n    # The": (
            "np.unique(np.arange(len(documents))[:14], return_inverse=True)\n"
            "    sums = differences[:14]\n    # The"
        ),
    },
    "means of documents": {"np.bincount(of_question, differences)": (
        "np.bincount(of_question, differences) / np.bincount(of_question)"
    )},
    "signs of documents": {"np.bincount(of_question, differences)": (
        "np.sign(np.bincount(of_question, differences))"
    )},
    "one side": {
        "totals = abs((1 - 2 * ways) @ sums)": "totals = (1 - 2 * ways) @ sums",
    },
    "strictly further": {"totals >= seen": "totals > seen + 2e-9 * abs(differences).sum()"},
    "no slack": {" - 1e-9 * abs(differences).sum()": ""},
    "a slack too wide": {"1e-9 * abs": "0.1 * abs"},
    "documents left out instead of turned": {"(1 - 2 * ways) @ sums": "(1 - ways) @ sums"},
    "one way too few": {"2 ** len(labels)": "2 ** len(labels) - 1"},
    "half of the ways": {"np.arange(2 ** len(labels))": "np.arange(2 ** (len(labels) - 1))",
                         "(totals >= seen).mean()": "(totals >= seen).mean() / 2"},
    "a sample": {"np.arange(2 ** len(labels))": "np.arange(0, 2 ** len(labels), 3)"},
    "never below .001": {"float((totals >= seen).mean())": "max(0.001, float((totals >= seen).mean()))"},
    "the observed left out": {"(1 + as_far) / (1 + len(signs_nc))": "as_far / len(signs_nc)"},
    "1 missing below": {"(1 + len(signs_nc))": "len(signs_nc)"},
    "1 missing above": {"(1 + as_far)": "as_far"},
    "samples on one side": {"abs(signs_nc @ sums)": "(signs_nc @ sums)"},
    "order of appearance": {"sums = np.bincount(of_question, differences)\n    seen = abs(sums.sum())": (
        "sums = np.array([differences[documents == x].sum() for x in dict.fromkeys(documents.tolist())])\n"
        "    seen = abs(sums.sum())"
    )},
    "columns not looked at": {"if signs_nc.shape[1] != len(labels):": "if False:",
                              "signs_nc @ sums": "signs_nc[:, :1] * sums[:1]"},
    "too many columns accepted": {"signs_nc.shape[1] != len(labels)": "signs_nc.shape[1] < len(labels)",
                                  "signs_nc @ sums": "signs_nc[:, : len(sums)] @ sums"},
    "columns are questions": {
        "if signs_nc.shape[1] != len(labels):": "if signs_nc.shape[1] not in (len(labels), len(differences)):",
        "signs_nc @ sums": "signs_nc @ (sums if signs_nc.shape[1] == len(sums) else differences)",
    },
}  # fmt: skip

HOLM = {
    "Bonferroni": {"np.arange(len(p), 0, -1)": "len(p)"},
    "Šidák": {"p[order] * np.arange(len(p), 0, -1)": "1 - (1 - p[order]) ** np.arange(len(p), 0, -1)"},
    "Benjamini and Hochberg": {"np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))": (
        "np.minimum.accumulate((p[order] * len(p) / np.arange(1, len(p) + 1))[::-1])[::-1]"
    )},
    "Hochberg": {"np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))": (
        "np.minimum.accumulate((p[order] * np.arange(len(p), 0, -1))[::-1])[::-1]"
    )},
    "m - i": {"np.arange(len(p), 0, -1)": "np.arange(len(p) - 1, -1, -1)"},
    "i, not m - i + 1": {"np.arange(len(p), 0, -1)": "np.arange(1, len(p) + 1)"},
    "not carried along": {"np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))": (
        "p[order] * np.arange(len(p), 0, -1)"
    )},
    "above 1": {"np.minimum(grown, 1.0)": "grown"},
    "sorted": {"adjusted[order] = np.minimum(grown, 1.0)": "adjusted[:] = np.minimum(grown, 1.0)"},
    "put back the wrong way": {"adjusted[order] = np.minimum(grown, 1.0)": (
        "adjusted[:] = np.minimum(grown, 1.0)[order]"
    )},
    "largest first": {"np.argsort(p, kind=\"stable\")": "np.argsort(-p, kind=\"stable\")"},
    "not adjusted": {"np.minimum(grown, 1.0)": "p[order]"},
    "not a number accepted": {"if not ((p >= 0) & (p <= 1)).all():": "if ((p < 0) | (p > 1)).any():"},
    "above 1 accepted": {"((p >= 0) & (p <= 1))": "(p >= 0)"},
    "below 0 accepted": {"((p >= 0) & (p <= 1))": "(p <= 1)"},
    "p itself decides": {"holm(p) <= alpha": "p <= alpha"},
    "always .05": {"holm(p) <= alpha": "holm(p) <= 0.05"},
    "alpha over m": {"holm(p) <= alpha": "p <= alpha / len(p)"},
    "0 is won": {"differences > 0": "differences >= 0"},
    "0 is lost": {"differences < 0": "differences <= 0"},
    "turned round": {"return wins, len(p) - wins - losses, losses": (
        "return losses, len(p) - wins - losses, wins"
    )},
    "the sign alone": {"settled & ": ""},
    "ties are the rest of the settled": {"len(p) - wins - losses, losses": (
        "int(settled.sum()) - wins - losses, losses"
    )},
}  # fmt: skip

EQUAL_BYTES = {
    "linear in bytes": {"np.log(target), np.log(sizes)": "target, sizes"},
    "logarithm of the curve only": {"np.interp(np.log(target), np.log(sizes)": (
        "np.interp(target, np.exp(np.log(sizes).round())"
    )},
    "not sorted": {"np.interp(np.log(target), np.log(sizes), means)": (
        "np.interp(np.log(target), np.log(held_j), score_j)"
    )},
    "flat outside": {"if not sizes[0] <= target <= sizes[-1]:": "if False:"},
    "flat beyond the largest": {"sizes[0] <= target <= sizes[-1]": "sizes[0] <= target"},
    "flat below the smallest": {"sizes[0] <= target <= sizes[-1]": "target <= sizes[-1]"},
    "the ends refused": {"sizes[0] <= target <= sizes[-1]": "sizes[0] < target < sizes[-1]"},
    "0 outside": {"return None": "return 0.0"},
    "NaN outside": {"return None": "return float(\"nan\")"},
    "the nearest": {"np.interp(np.log(target), np.log(sizes), means)": (
        "means[abs(np.log(sizes) - np.log(target)).argmin()]"
    )},
    "the budget below": {"np.interp(np.log(target), np.log(sizes), means)": (
        "means[np.searchsorted(sizes, target, side=\"right\") - 1]"
    )},
    "a line through all": {"np.interp(np.log(target), np.log(sizes), means)": (
        "np.polyval(np.polyfit(np.log(sizes), means, min(1, len(sizes) - 1)), np.log(target))"
    )},
    "equal bytes add up": {"np.bincount(of_budget, score_j) / np.bincount(of_budget)": (
        "np.bincount(of_budget, score_j)"
    )},
    "the best of equal bytes": {"np.bincount(of_budget, score_j) / np.bincount(of_budget)": (
        "np.array([score_j[of_budget == i].max() for i in range(len(sizes))])"
    )},
    "0 bytes accepted": {"(held_j > 0)": "(held_j >= 0)"},
    "bytes not looked at": {"if not (held_j > 0).all():": "if False:"},
    "NumPy floats": {"float(np.interp(np.log(target), np.log(sizes), means))": (
        "np.interp(np.log(target), np.log(sizes), means)"
    )},
    "ours minus theirs": {"score - ours": "ours - score"},
    "one curve for all": {"zip(held_jd.T, score_jd.T, held_d, score_d)": (
        "zip([held_jd.mean(1)] * len(held_d), [score_jd.mean(1)] * len(held_d), held_d, score_d)"
    )},
    "at mean bytes": {"ours = score_at(held_j, score_j, held)": (
        "ours = score_at(held_j, score_j, float(held_d.mean()))"
    )},
    "at the nominal budget": {"ours = score_at(held_j, score_j, held)": "ours = float(score_j[0])"},
    "left out counts as 0": {"np.mean(gains)": "np.sum(gains) / len(held_d)"},
    "not counted": {"len(held_d) - len(gains)": "0"},
    "compared ones counted": {"len(held_d) - len(gains)": "len(gains)"},
    "a gain of 0 where none is known": {"if not gains:": (
        "if not gains:\n        return 0.0, len(held_d)\n    if False:"
    )},
    "0 is left out": {"if ours is not None:": "if ours:"},
}  # fmt: skip

MUTANTS = {
    "win_tie_loss": WIN_TIE_LOSS,
    "paired_interval": PAIRED_INTERVAL,
    "sign_flip": SIGN_FLIP,
    "holm": HOLM,
    "equal_bytes": EQUAL_BYTES,
}
