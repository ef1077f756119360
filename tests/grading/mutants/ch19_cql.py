"""Wrong answers to the exercises of chapter 19."""

READ_LOG = {
    "sums": {"mean = total / count.clamp_min(1)": "mean = total"},
    "over all trials of the state": {"mean = total / count.clamp_min(1)": (
        "mean = total / count.view(states, actions).sum(1, True).clamp_min(1)"
        ".expand(states, actions).reshape(-1)"
    )},
    "over all trials": {"total / count.clamp_min(1)": "total / len(cell_n)"},
    "never tried is NaN": {"count.clamp_min(1)": "count"},
    "the last one only": {"total.index_add_(0, cell_n, reward_n)": "total[cell_n] = reward_n"},
    "once a cell": {"count.index_add_(0, cell_n, torch.ones(len(cell_n), dtype=torch.float64))": (
        "count[cell_n] = 1"
    )},
    "the other way round": {"cell_n = state_n * actions + action_n": (
        "cell_n = action_n * states + state_n"
    )},
    "transposed": {"cell_n = state_n * actions + action_n": (
        "cell_n = (action_n * states + state_n)"
    ), "count.view(states, actions), mean.view(states, actions)": (
        "count.view(actions, states).T, mean.view(actions, states).T.flip(0)"
    )},
    "mean first": {"return count.view(states, actions), mean.view(states, actions)": (
        "return mean.view(states, actions), count.view(states, actions)"
    )},
    "the untried compete": {"q_sa.masked_fill(count_sa == 0, -torch.inf)": "q_sa"},
    "the untried are 0": {"-torch.inf)": "0.0)"},
    "every action must be known": {"count_sa.sum(1) >= least": "count_sa.amin(1) >= least"},
    "some action must be known": {"count_sa.sum(1) >= least": "count_sa.amax(1) >= least"},
    "more than least": {"count_sa.sum(1) >= least": "count_sa.sum(1) > least"},
    "the most tried": {"worth_sa.argmax(1)": "count_sa.argmax(1)"},
    "the worst": {"worth_sa.argmax(1)": "q_sa.argmin(1)"},
    "no fallback": {"torch.where(known_s, worth_sa.argmax(1), fallback)": "worth_sa.argmax(1)"},
    "Q is changed": {"q_sa.masked_fill(": "q_sa.masked_fill_("},
}  # fmt: skip

HABIT = {
    "softmax of 1": {"c / 2 * (1 / rare": "c * (1 / rare"},
    "rare one only": {"(1 / rare - 1 / (1 - rare))": "(1 / rare)"},
    "the difference of shares": {"c / 2 * (1 / rare - 1 / (1 - rare))": "c * (1 - 2 * rare)"},
    "the sign": {"(1 / rare - 1 / (1 - rare))": "(1 / (1 - rare) - 1 / rare)"},
    "any share": {"if not 0 < rare <= 0.5:": "if rare == 0:"},
    "above one half": {"if not 0 < rare <= 0.5:": "if not 0 < rare < 1:"},
    "one half is refused": {"if not 0 < rare <= 0.5:": "if not 0 < rare < 0.5:"},
    "shares": {"count_sa / count_sa.mean(1, keepdim=True) - 1": (
        "count_sa / count_sa.sum(1, keepdim=True)"
    )},
    "mean of all states": {"count_sa.mean(1, keepdim=True)": "count_sa.mean()"},
    "rarity rewarded": {"mean_sa + c * excess_sa": "mean_sa - c * excess_sa"},
    "rewards alone": {"mean_sa + c * excess_sa": "mean_sa"},
    "habits alone": {"mean_sa + c * excess_sa": "mean_sa / 1e9 + c * excess_sa"},
    "the most tried is 1": {"count_sa.mean(1, keepdim=True)": "count_sa.amax(1, keepdim=True)"},
    "in place": {"    excess_sa = count_sa /": "    count_sa += 1\n    excess_sa = count_sa /"},
    "most tried only": {"(excess_a.max() - excess_a.min()).item()": "excess_a.max().item()"},
    "in trials": {"excess_a = count_a / count_a.mean() - 1": "excess_a = count_a"},
    "upside down": {"spread / reach if": "reach / spread if"},
    "an even log": {'spread / reach if reach > 0 else float("inf")': "spread / max(reach, 1e-12)"},
    "shares of the log": {"count_a / count_a.mean() - 1": "count_a / count_a.sum()"},
}  # fmt: skip

STATIONARY = {
    "not halved": {".sum() / 2": ".sum()"},
    "weigh equally": {"(share_a * (q_a - mean_a) ** 2).sum() / 2": (
        "((q_a - mean_a) ** 2).mean() / 2"
    )},
    "overflows": {"q_a.logsumexp(0)": "q_a.exp().sum().log()"},
    "the hard maximum": {"q_a.logsumexp(0)": "q_a.max()"},
    "the mean Q": {"(share_a * q_a).sum()": "q_a.mean()"},
    "signs of the push": {"push = q_a.logsumexp(0) - (share_a * q_a).sum()": (
        "push = (share_a * q_a).sum() - q_a.logsumexp(0)"
    )},
    "c on the fit": {"c * push + fit": "push + c * fit"},
    "a tensor": {"return (c * push + fit).item()": "return c * push + fit"},
    "squares do not weigh": {"+ share_a * (q_a - mean_a)": "+ (q_a - mean_a)"},
    "sign of the gradient": {"c * (q_a.softmax(0) - share_a) +": (
        "c * (share_a - q_a.softmax(0)) +"
    )},
    "gradient of the maximum": {"c * (q_a.softmax(0) - share_a) +": "c * (1 - share_a) +"},
    "twice the squares": {"+ share_a * (q_a - mean_a)": "+ 2 * share_a * (q_a - mean_a)"},
    "uphill": {"return c * (q_a.softmax(0) - share_a) + share_a * (q_a - mean_a)": (
        "return -c * (q_a.softmax(0) - share_a) - share_a * (q_a - mean_a)"
    )},
    "exchanged": {"ratio_a = q_a.softmax(0) / torch.where(tried_a, share_a, 1.0)": (
        "ratio_a = share_a / q_a.softmax(0)"
    )},
    "subtracted": {"mean_a + c * (1 - ratio_a)": (
        "mean_a + c * (share_a - q_a.softmax(0))"
    )},
    "pulled up": {"mean_a + c * (1 - ratio_a)": "mean_a + c * (ratio_a - 1)"},
    "without the 1": {"mean_a + c * (1 - ratio_a)": "mean_a - c * ratio_a"},
    "divided by 0": {"torch.where(tried_a, share_a, 1.0)": "share_a",
                     "return torch.where(tried_a, mean_a + c * (1 - ratio_a), q_a)": (
                         "return mean_a + c * (1 - ratio_a)"
                     )},
    "the untried get a mean": {"c * (1 - ratio_a), q_a)": "c * (1 - ratio_a), mean_a + c)"},
}  # fmt: skip

FIXED_POINT = {
    "too few steps": {"steps=60": "steps=2"},
    "one step": {"steps=60": "steps=1"},
    "from 0": {"y = torch.where(total > 1, total.clamp_min(1).log(), total)": (
        "y = torch.zeros_like(total)"
    ), "steps=60": "steps=6"},
    "overflows": {
        "y = torch.where(total > 1, total.clamp_min(1).log(), total)": "y = total * 20",
    },
    "log push + q": {"return y - log_push": "return y"},
    "push e^q": {"return y - log_push": "return y.exp()"},
    "no exponential": {"total = wanted + log_push": "total = wanted - log_push"},
    "the argument is changed": {"log_push = push.log()": (
        "log_push = push.log()\n    wanted += 0.5\n    wanted -= 0.25"
    )},
    "Z is 1": {"return answer(low)": "return answer(torch.zeros(()).double())"},
    "Z of the rewards": {"return answer(low)": "return answer(mean_a.logsumexp(0))"},
    "few halvings": {"range(200)": "range(12)"},
    "bisects the wrong way": {"> middle:": "< middle:"},
    "p in the place of 1 / p": {"c / share_a * torch": "c * share_a * torch"},
    "without p": {"c / share_a * torch": "c * torch"},
    "without c": {"one_action(mean_a + c, c": "one_action(mean_a, c"},
    "the softmax of R": {"return answer(low)": (
        "return mean_a + c * (1 - mean_a.softmax(0) / share_a)"
    )},
    "R itself": {"return answer(low)": "return mean_a.clone()"},
    "centred": {"return answer(low)": "q = answer(low)\n    return q - q.mean()"},
    "untried are let through": {"if not (share_a > 0).all():": "if False:"},
    "Z from above only": {"low = mean_a.min()\n": "low = mean_a.max()\n"},
}  # fmt: skip

MUTANTS = {
    "read_log": READ_LOG,
    "habit": HABIT,
    "stationary": STATIONARY,
    "fixed_point": FIXED_POINT,
}
