"""Wrong answers to the exercises of chapter 15."""

UNION_OVERHEAD = {
    "a key for every head": {"kept_rs.any(0).sum().item()": "kept_rs.sum().item()"},
    "what all heads want": {"kept_rs.any(0)": "kept_rs.all(0)"},
    "over all keys": {"return union / size,": "return union / kept_rs.shape[1],"},
    "not divided": {"return union / size,": "return float(union),"},
    "overlap for distance": {"1 - both / either": "both / either"},
    "distance over one head": {"1 - both / either": "1 - both / size"},
    "distance over both heads": {"1 - both / either": "1 - both / (2 * size)"},
    "each head with itself": {"range(a + 1, heads)": "range(a, heads)"},
    "only neighbours": {"range(a + 1, heads)": "range(a + 1, min(a + 2, heads))"},
    "only the first head": {"range(a + 1, heads)": "range(a + 1, heads) if a == 0 else ()"},
    "the worst pair": {"sum(distances) / len(distances)": "max(distances)"},
    "over R": {"sum(distances) / len(distances)": "sum(distances) / heads"},
    "a tensor": {"kept_rs.any(0).sum().item()": "kept_rs.any(0).sum()"},
    "sets of the argument are changed": {"    union = kept_rs.any(0)": (
        "    kept_rs[0] = kept_rs.any(0)\n    union = kept_rs.any(0)"
    )},
    "the overlap is the share": {"return 2 * overlap / (1 + overlap)": "return overlap"},
    "the overhead": {"return 2 * overlap / (1 + overlap)": "return 2 / (1 + overlap)"},
    "half of it": {"return 2 * overlap / (1 + overlap)": "return overlap / (1 + overlap)"},
    "distance for overlap": {"overlap = 1 - distance": "overlap = distance"},
    "any distance": {"if not 0 <= distance <= 1:": "if False:"},
    "no NaN check": {"if not 0 <= distance <= 1:": "if distance < 0 or distance > 1:"},
}  # fmt: skip

CERTIFICATE = {
    "2 J below": {
        "lower = heads / (1 + 2 * (heads - 1) * mean / (1 + mean))": (
            "lower = heads / (1 + 2 * (heads - 1) * mean)"
        ),
    },
    "2 J above": {"heads - 2 * most / (1 + most)": "heads - 2 * most"},
    "mean pair above": {"overlaps.max().item()": "overlaps.mean().item()"},
    "best pair below": {"overlaps.mean().item()": "overlaps.max().item()"},
    "worst pair above": {"overlaps.max().item()": "overlaps.min().item()"},
    "the other way round": {
        "return lower, heads - 2 * most / (1 + most)": (
            "return heads - 2 * most / (1 + most), lower"
        ),
    },
    "R in the place of R - 1": {
        "lower = heads / (1 + 2 * (heads - 1) * mean": "lower = heads / (1 + 2 * heads * mean",
    },
    "pairs once": {"lower = heads / (1 + 2 * (heads": "lower = heads / (1 + (heads"},
    "2 J in the counts": {
        "counts = heads - heads * (heads - 1) * common": (
            "counts = heads - heads * (heads - 1) * mean"
        ),
    },
    "pairs twice in the counts": {"heads * (heads - 1) * common": (
        "2 * heads * (heads - 1) * common"
    )},
    "pairs once in the squares": {
        "squares = heads / (1 + 2 * (heads": "squares = heads / (1 + (heads",
    },
    "counts only": {"    if squares >= factor:": "    if False:"},
    "squares only": {"    if counts >= factor:": "    if False:"},
    "either for both": {"    if squares >= factor:": "    if max(counts, squares) >= factor:"},
    "order": {"return tuple(promising)": "return tuple(promising[::-1])"},
    "a list": {"return tuple(promising)": "return promising"},
    "any factor": {"if not 1 <= factor <= heads:": "if False:"},
    "above R": {"if not 1 <= factor <= heads:": "if factor < 1:"},
    "below 1": {"if not 1 <= factor <= heads:": "if factor > heads:"},
    "squares reach furthest": {"max(by_counts, by_squares)": "by_squares"},
    "counts reach furthest": {"max(by_counts, by_squares)": "by_counts"},
    "the worse one": {"max(by_counts, by_squares)": "min(by_counts, by_squares)"},
    "not solved for J": {"return common / (1 - common)": "return common"},
    "solved the wrong way": {"return common / (1 - common)": "return common / (1 + common)"},
    "a factor of two": {"/ (2 * (heads - 1))": "/ (heads - 1)"},
}

STRANGERS = {
    "not divided": {"return (1 - missed_by_all) / share": "return 1 - missed_by_all"},
    "all must want it": {"(1 - missed_by_all) / share": "share**heads / share"},
    "the heads never meet": {"(1 - missed_by_all) / share": "float(heads)"},
    "times for power": {"(1 - share) ** heads": "(1 - share) * heads"},
    "one head less": {"(1 - share) ** heads": "(1 - share) ** (heads - 1)"},
    "missed is held": {"(1 - missed_by_all) / share": "missed_by_all / share"},
    "any share": {"if not 0 < share <= 1:": "if share == 0:"},
    "zero": {"if not 0 < share <= 1:": "if not -1e-9 < share <= 1:",
             "(1 - missed_by_all) / share": "(1 - missed_by_all) / max(share, 1e-9)"},
    "the mean share": {"for share in shares.tolist():": (
        "for share in [shares.mean().item()] * len(shares):"
    )},
    "those who do not want it": {"found = found * (1 - share) + more * share": (
        "found = found * share + more * (1 - share)"
    )},
    "nobody drops out": {"found * (1 - share) + more": "found + more"},
    "in place": {"found = found * (1 - share) + more * share": (
        "for n in range(1, len(found)):\n"
        "            found[n] = found[n] * (1 - share) + found[n - 1] * share\n"
        "        found[0] *= 1 - share"
    )},
    "one head forgotten": {"for share in shares.tolist():": "for share in shares.tolist()[1:]:"},
    "mixed up": {"(strangers - overhead) / (strangers - 1)": "(overhead - 1) / (strangers - 1)"},
    "from R": {"strangers = expected_overhead(share, heads)": "strangers = heads"},
    "share of the expected": {"/ (strangers - 1)": "/ strangers"},
    "never negative": {"return (strangers - overhead) / (strangers - 1)": (
        "return max((strangers - overhead) / (strangers - 1), 0.0)"
    )},
}  # fmt: skip

EQUAL_MEMORY = {
    "the keenest head": {"mass_rs.sum(0).argsort": "mass_rs.amax(0).argsort"},
    "the first head": {"mass_rs.sum(0).argsort": "mass_rs[0].argsort"},
    "the keys of least worth": {"mass_rs.sum(0).argsort(descending=True, ": (
        "mass_rs.sum(0).argsort("
    )},
    "squares": {"mass_rs.sum(0).argsort": "mass_rs.square().sum(0).argsort"},
    "not stable": {"mass_rs.sum(0).argsort(descending=True, stable=True)[:size]": (
        "mass_rs.sum(0).flip(0).argsort(descending=True, stable=True)[:size]"
        ".neg() + mass_rs.shape[1] - 1"
    )},
    "one too few": {"stable=True)[:size]\n    kept = ": "stable=True)[: max(size - 1, 1)]\n    kept = "},
    "indices": {"    return kept\n": "    return best\n"},
    "each its own": {"return held, (mass_rs * ~sets[:, None]).sum(-1)": (
        "return held, torch.stack([(mass_rs * ~own).sum(-1), (mass_rs * ~sets[1]).sum(-1)])"
    )},
    "the budget's memory": {"common_choice(mass_rs, held)": "common_choice(mass_rs, size)"},
    "all wishes": {"held = int(union.sum())": "held = min(int(own.sum()), mass_rs.shape[1])"},
    "what all want": {"own.any(0)": "own.all(0)"},
    "exchanged": {"[union, common_choice(mass_rs, held)]": "[common_choice(mass_rs, held), union]"},
    "kept mass": {"mass_rs * ~sets": "mass_rs * sets"},
    "mean over heads": {"return held, (mass_rs * ~sets[:, None]).sum(-1)": (
        "return held, (mass_rs * ~sets[:, None]).sum(-1).mean(1, True).expand(-1, len(mass_rs))"
    )},
    "a tensor": {"held = int(union.sum())": "held = union.sum()"},
    "the union twice": {"common_choice(mass_rs, held)": "union"},
}  # fmt: skip

SHARPEST = {
    "m is 1": {"m = 1 + 2 * pairs // wishes": "m = 1"},
    "pairs once in m": {"m = 1 + 2 * pairs // wishes": "m = 1 + pairs // wishes"},
    "m not whole": {"m = 1 + 2 * pairs // wishes": "m = 1 + 2 * pairs / wishes"},
    "m too large": {"m = 1 + 2 * pairs // wishes": "m = 2 + 2 * pairs // wishes"},
    "m rounded": {"m = 1 + 2 * pairs // wishes": "m = max(1, round(1 + 2 * pairs / wishes))"},
    "ordered pairs": {"wanted_s * (wanted_s - 1) // 2": "wanted_s * (wanted_s - 1)"},
    "with itself": {"wanted_s * (wanted_s - 1) // 2": "wanted_s * (wanted_s + 1) // 2"},
    "squares": {"return (2 * wishes / (m + 1) - 2 * pairs / (m * (m + 1))) / size": (
        "return wishes**2 / (wishes + 2 * pairs) / size"
    )},
    "the union itself": {"return (2 * wishes / (m + 1) - 2 * pairs / (m * (m + 1))) / size": (
        "return kept_rs.any(0).sum().item() / size"
    )},
    "not divided below": {"(m * (m + 1))) / size": "(m * (m + 1)))"},
    "not divided above": {"heads - shared / size": "float(heads * size - shared)"},
    "a chain": {"best = [max(x, y) for x, y in zip(best, common[joined])]": (
        "best = common[joined]"
    ), "max(outside, key=lambda h: best[h])": "min(outside)"},
    "a star": {"        best = [max(x, y) for x, y in zip(best, common[joined])]\n": ""},
    "greedy chain": {"best = [max(x, y) for x, y in zip(best, common[joined])]": (
        "best = common[joined]"
    )},
    "the worst tree": {"max(outside, key=lambda h: best[h])": "min(outside, key=lambda h: best[h])",
                       "max(x, y) for": "min(x, y) for"},
    "circles": {"    return heads - shared / size": (
        "    every = sorted(x for i, row in enumerate(common) for x in row[i + 1 :])\n"
        "    return heads - sum(every[1 - heads :]) / size"
    )},
    "one pair": {"    return heads - shared / size": (
        "    every = [x for i, row in enumerate(common) for x in row[i + 1 :]]\n"
        "    return heads - max(every) / size"
    )},
    "the true union": {"    return heads - shared / size": (
        "    return kept_rs.any(0).sum().item() / size"
    )},
    "changes its argument": {"    ones = kept_rs.long()": (
        "    ones = kept_rs.long()\n    kept_rs[:] = False"
    )},
}  # fmt: skip

MUTANTS = {
    "union_overhead": UNION_OVERHEAD,
    "certificate": CERTIFICATE,
    "strangers": STRANGERS,
    "equal_memory": EQUAL_MEMORY,
    "sharpest": SHARPEST,
}
