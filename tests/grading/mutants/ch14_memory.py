"""Wrong answers to the exercises of chapter 14."""

CONDITIONAL_WRITE = {
    "softmax over the evicted": {
        "score_s.masked_fill(score_s == torch.inf, -torch.inf)": (
            "score_s.masked_fill(kept_s, -torch.inf)"
        )},
    "forced keys count as zero": {
        "score_s.masked_fill(score_s == torch.inf, -torch.inf)": (
            "score_s.masked_fill(score_s == torch.inf, 0.0)"
        )},
    "only the newest key is forced": {
        "pi_s = score_s.masked_fill(score_s == torch.inf, -torch.inf).softmax(0)": (
            "pi_s = torch.cat([score_s[:-1].clamp_max(9.0).softmax(0), torch.zeros(1).double()])"
        )},
    "mass not divided out": {"(gone_s / mass)": "gone_s"},
    "equal weights": {"(gone_s / mass)": "((~kept_s).double() / (~kept_s).sum())"},
    "kept keys are written": {"gone_s = pi_s * ~kept_s": "gone_s = pi_s * kept_s"},
    "the kept mass": {"mass = float(gone_s.sum())": "mass = float((pi_s * kept_s).sum())"},
    "values by keys": {"return moments, mass\n": "return moments.flip(1), mass\n"},
    "a plain sum": {"(gamma * old * before + mass * moments) / total": "gamma * before + moments"},
    "one minus gamma": {"(gamma * old * before + mass * moments) / total": (
        "gamma * before + (1 - gamma) * moments"
    )},
    "no decay": {"total = gamma * old + mass": "total = old + mass", "gamma * old * before": "old * before"},
    "no decay of the moments": {"(gamma * old * before": "(old * before"},
    "mass forgotten": {"/ total, total": "/ total, mass"},
    "mass of the old": {"/ total, total": "/ total, old + mass"},
    "equal parts": {"(gamma * old * before + mass * moments) / total": "(before + moments) / 2"},
    "divided by the old sum": {"mass * moments) / total": "mass * moments) / (old + mass)"},
    "the state is overwritten": {"    total = gamma * old + mass\n": (
        "    total = gamma * old + mass\n    before.mul_(gamma)\n"
    ), "(gamma * old * before": "(old * before"},
    "the first is youngest": {"torch.arange(len(masses) - 1, -1, -1, dtype": "torch.arange(len(masses), dtype"},
    "all equal": {"torch.tensor(masses, dtype=torch.float64) * gamma**age": "gamma**age"},
    "no fading": {"dtype=torch.float64) * gamma**age": "dtype=torch.float64) + 0 * age"},
    "masses, not shares": {"return weight / weight.sum()": "return weight"},
    "shares of the largest": {"return weight / weight.sum()": "return weight / weight.max()"},
}  # fmt: skip

SMALL_STORAGE = {
    "no root": {"(feature_xf.square() @ b_f).sqrt()": "feature_xf.square() @ b_f"},
    "the diagonal of Q": {"((phi_fd @ squares_dd) * phi_fd).sum(1)": "phi_fd.square() @ squares_dd.diagonal()"},
    "root of each square": {"(feature_xf.square() @ b_f).sqrt()": "(feature_xf.abs() @ b_f.sqrt())"},
    "the length of features": {"(feature_xf.square() @ b_f).sqrt()": "feature_xf.norm(dim=1)"},
    "b without the query": {"(feature_xf.square() @ b_f).sqrt()": "b_f.sum().sqrt().expand(len(query_xd))"},
    "no features in the numerator": {"(feature_xf @ phi_fd) @": "query_xd @"},
    "features not squared": {"feature_xf.square() @ b_f": "(feature_xf @ b_f).abs()"},
    "features twice": {"(feature_xf @ phi_fd)": "(feature_xf @ phi_fd @ phi_fd.T @ phi_fd)"},
    "one query for all": {"(feature_xf.square() @ b_f).sqrt()": (
        "(feature_xf.square() @ b_f).sqrt().mean().expand(len(query_xd))"
    )},
    "M as it is": {"min(features, width) * value": "features * value"},
    "C always": {"min(features, width) * value": "width * value"},
    "no b": {" + min(features, width * (width + 1) // 2)": ""},
    "b as it is": {"min(features, width * (width + 1) // 2)": "features"},
    "Q always": {"min(features, width * (width + 1) // 2)": "width * (width + 1) // 2"},
    "Q whole": {"width * (width + 1) // 2": "width * width"},
    "Q without its diagonal": {"width * (width + 1) // 2": "width * (width - 1) // 2"},
    "square C": {"min(features, width) * value": "min(features, width) * width"},
    "both or neither": {"min(features, width) * value + min(features, width * (width + 1) // 2)": (
        "min(features * value + features, width * value + width * (width + 1) // 2)"
    )},
    "rounded down": {"math.ceil(numbers(features, width, value) / (width + value))": (
        "numbers(features, width, value) // (width + value)"
    )},
    "one more": {"math.ceil(numbers(features, width, value) / (width + value))": (
        "numbers(features, width, value) // (width + value) + 1"
    )},
    "keys without values": {"(width + value))": "width)"},
}  # fmt: skip

MEMORY_NORMS = {
    "keys for features": {"(keys_sd @ phi_fd.T).norm": "keys_sd.norm"},
    "key by key": {"float(feature * longest)": (
        "float(((keys_sd @ phi_fd.T).norm(dim=1) * values_se.norm(dim=1)).max())"
    )},
    "the mean value": {"values_se.norm(dim=1).max()": "values_se.norm(dim=1).mean()"},
    "largest entry": {"values_se.norm(dim=1).max()": "values_se.abs().max()"},
    "norm of all values": {"values_se.norm(dim=1).max()": "values_se.norm()"},
    "no root": {"len(phi_fd) ** 0.5": "len(phi_fd)"},
    "the width": {"len(phi_fd) ** 0.5": "keys_sd.shape[1] ** 0.5"},
    "the number of keys": {"len(phi_fd) ** 0.5": "len(keys_sd) ** 0.5"},
    "no features at all": {"float(len(phi_fd) ** 0.5 * longest)": "float(longest)"},
    "the mean grows": {"        return norm\n": "        return norm * sum(gamma**age for age in range(rounds))\n"},
    "the mean fades": {"        return norm\n": "        return norm * gamma ** (rounds - 1)\n"},
    "the sum stays": {"return norm * sum(gamma**age for age in range(rounds))": "return norm"},
    "the limit": {"sum(gamma**age for age in range(rounds))": "(1 / (1 - gamma) if gamma < 1 else rounds)"},
    "one round more": {"range(rounds)": "range(rounds + 1)"},
    "one round less": {"for age in range(rounds)": "for age in range(1, rounds)"},
    "no fading": {"sum(gamma**age for age in range(rounds))": "rounds"},
    "keys as unit vectors": {"return ones[None], ones[:1], ones": (
        "return torch.eye(features).double(), ones / features, ones"
    )},
    "a unit key and query": {"return ones[None], ones[:1], ones": (
        "return torch.eye(features).double()[:1], ones[:1], torch.eye(features).double()[0]"
    )},
    "unequal products": {"return ones[None], ones[:1], ones": (
        "return ones[None], ones[:1], torch.arange(1, features + 1).double()"
    )},
    "signs cancel": {"return ones[None], ones[:1], ones": (
        "return torch.stack([ones, -ones]), torch.tensor([0.6, 0.4]).double(), ones"
    )},
    "weights that sum to two": {"return ones[None], ones[:1], ones": (
        "return torch.stack([ones, ones]), torch.ones(2).double(), ones"
    )},
}  # fmt: skip

PROMISE = {
    "not halved": {"change.abs().sum(1) / 2": "change.abs().sum(1)"},
    "increases everywhere": {"change.clamp_min(0) @ evicted_s.double()": "change.clamp_min(0).sum(1)"},
    "net change": {"change.clamp_min(0) @ evicted_s.double()": "change @ evicted_s.double()"},
    "net change, if positive": {"change.clamp_min(0) @ evicted_s.double()": (
        "(change @ evicted_s.double()).clamp_min(0)"
    )},
    "decreases": {"change.clamp_min(0) @": "change.clamp_max(0).neg() @"},
    "all changes": {"change.clamp_min(0) @": "change.abs() @"},
    "arriving is halved": {"change.clamp_min(0) @ evicted_s.double()": (
        "change.clamp_min(0) @ evicted_s.double() / 2"
    )},
    "kept keys": {"evicted_s.double()": "(~evicted_s).double()"},
    "the row's mass": {"walk[:1] @": "walk[3:] @"},
    "over evicted keys only": {"change.abs().sum(1) / 2": "change.abs() @ evicted_s.double() / 2"},
    "largest change": {"change.abs().sum(1) / 2": "change.abs().amax(1)"},
    "to the row directly": {"walk.diff(dim=0)": "walk[3:] - walk[:3]"},
    "logits as weights": {"logits_ds.softmax(1)": "logits_ds"},
    "softmax over lines": {"logits_ds.softmax(1)": "logits_ds.softmax(0)"},
    "no cut": {"min(float(term_d.sum()), 1.0)": "float(term_d.sum())"},
    "cut after the gap": {"gap * min(float(term_d.sum()), 1.0)": "min(gap * float(term_d.sum()), 1.0)"},
    "the largest term": {"term_d.sum()": "term_d.max()"},
    "not without the first": {"term_d.sum()": "term_d[1:].sum()"},
    "twice the gap": {"return gap *": "return 2 * gap *"},
    "half of osc": {"/ 4).tanh()": "/ 2).tanh()"},
    "no tanh": {"/ 4).tanh()": "/ 4)"},
    "twice the largest": {"change.amax(1) - change.amin(1)": "2 * change.abs().amax(1)"},
    "the largest": {"change.amax(1) - change.amin(1)": "change.abs().amax(1)"},
    "of weights": {"change = logits_ds.diff(dim=0)": "change = logits_ds.softmax(1).diff(dim=0)"},
    "spread of lines": {"change = logits_ds.diff(dim=0)": "change = logits_ds[1:]"},
}  # fmt: skip

MASS_IN_LOGS = {
    "exp of the logs": {"log_ts.softmax(1)": "log_ts.exp() / log_ts.exp().sum(1, keepdim=True)"},
    "exp with a floor": {"log_ts.softmax(1)": (
        "log_ts.exp() / log_ts.exp().sum(1, keepdim=True).clamp_min(1e-300)"
    )},
    "no shares": {"weight_ts = log_ts.softmax(1)": "weight_ts = log_ts.exp()"},
    "masses": {"log_ts.logsumexp(1)\n": "log_ts.logsumexp(1).exp()\n"},
    "log of a sum of exp": {"log_ts.logsumexp(1)\n": "log_ts.exp().sum(1).log()\n"},
    "the largest": {"log_ts.logsumexp(1)\n": "log_ts.amax(1)\n"},
    "no fading": {"(log_mass_t + age * math.log(gamma))": "(log_mass_t + 0 * age)"},
    "growing": {"age * math.log(gamma))": "-age * math.log(gamma))"},
    "gamma for its logarithm": {"age * math.log(gamma))": "age * gamma)"},
    "the future counts": {".masked_fill(age < 0, -torch.inf)": ""},
    "without the present": {".masked_fill(age < 0, -torch.inf)": (
        ".masked_fill((age <= 0) & (step[:, None] > 0), -torch.inf)"
    )},
    "one round older": {"age * math.log(gamma))": "(age + 1) * math.log(gamma))"},
    "shares of evictions": {"log_ts.softmax(1)": "log_ts.softmax(0)"},
    "only the last": {"return torch.einsum(": "moments_tde = moments_tde[-1:].expand_as(moments_tde)\n    return torch.einsum("},
    "the first does not fade": {"log_one + more * math.log(gamma)": "log_one"},
    "fades by its own rounds": {"log_one + more * math.log(gamma)": "log_one + rounds * math.log(gamma)"},
    "fades once": {"log_one + more * math.log(gamma)": "log_one + math.log(gamma)"},
    "the second fades": {"log_two]": "log_two + rounds * math.log(gamma)]"},
    "rounds of the second": {"rounds + more\n": "more\n"},
    "the larger of rounds": {"rounds + more\n": "max(rounds, more)\n"},
    "exp when joining": {"logs.softmax(0)": "logs.exp() / logs.exp().sum()"},
    "sum of both": {"old * one + new * two": "one + two"},
    "exchanged": {"old * one + new * two": "new * one + old * two"},
    "logs added": {"float(logs.logsumexp(0))": "float(logs.sum())"},
    "the mean of both": {"old, new = logs.softmax(0)": "old, new = 0.5, 0.5"},
}  # fmt: skip

MUTANTS = {
    "conditional_write": CONDITIONAL_WRITE,
    "small_storage": SMALL_STORAGE,
    "memory_norms": MEMORY_NORMS,
    "promise": PROMISE,
    "mass_in_logs": MASS_IN_LOGS,
}
