"""Wrong answers to the exercises of chapter 02."""

FORCED_OUTPUT = {
    "not renormalised": {"kept_p / mass, v": "kept_p, v"},
    "divided by the number of keys": {"mass = kept_p.sum(-1, keepdim=True)": (
        "mass = kept.sum(-1, keepdim=True)"
    )},
    "softmax of the weights": {"kept_p / mass, v": "torch.softmax(kept_p, -1), v"},
    "softmax of the kept weights": {"kept_p / mass, v": (
        'torch.softmax(p.masked_fill(~kept, float("-inf")), -1), v'
    )},
    "mask the wrong way round": {"p * kept": "p * ~kept"},
    "an epsilon": {"kept_p / mass, v": "kept_p / (mass + 1e-8), v"},
    "mass of all rows together": {"kept_p.sum(-1, keepdim=True)": "kept_p.sum()[None]"},
    "first row's mask for all": {"p * kept": "p * kept.reshape(-1, p.shape[-1])[0]"},
    "nothing refused": {"if (mass <= 0).any():": "if False:"},
    "only all rows refused": {"(mass <= 0).any()": "(mass <= 0).all()"},
    "weights changed in place": {"kept_p = p * kept": "kept_p = p.mul_(kept)"},
    "constant": {'return torch.einsum("...s,...sd->...d", kept_p / mass, v)': (
        "return torch.zeros_like(v[..., 0, :])"
    )},
    "always equal": {"return torch": (
        "return type('Equal', (), {'__eq__': lambda a, b: True})() or torch"
    )},
}  # fmt: skip

FACTORIZATION = {
    "gap from the dense output": {"(m_evicted - m_kept)": (
        '(m_kept - torch.einsum("...s,...sd->...d", p, v))'
    )},
    "evicted mean not renormalised": {"evicted_p / divisor[..., None]": "evicted_p"},
    "kept mean not renormalised": {"kept_p / kept_mass[..., None]": "kept_p"},
    "mass of the kept keys": {"return dropped_mass, gap": "return kept_mass, gap"},
    "error weighted by the kept mass": {"dropped_mass * gap": "kept_mass * gap"},
    "squared": {".norm(dim=-1)": ".square().sum(-1)"},
    "largest entry for length": {".norm(dim=-1)": ".abs().amax(-1)"},
    "signed": {".norm(dim=-1)": ".sum(-1)"},
    "length over the wrong axis": {".norm(dim=-1)": ".norm(dim=0)"},
    "0 / 0": {"divisor = torch.where(dropped_mass > 0, dropped_mass, 1.0)": (
        "divisor = dropped_mass"
    ), "gap = torch.where(dropped_mass > 0, gap, 0.0)": "pass"},
    "gap to the origin": {"gap = torch.where(dropped_mass > 0, gap, 0.0)": "pass"},
    "error is the mass": {"dropped_mass * gap": "dropped_mass"},
    "gap and mass swapped": {"return dropped_mass, gap": "return gap, dropped_mass"},
    "halves for weights": {"kept_p / kept_mass[..., None]": (
        "kept / kept.sum(-1, keepdim=True).to(p.dtype)"
    )},
}  # fmt: skip

MISSING_STATISTIC = {
    "centroid for sum": {'evicted_p, v), evicted_p.sum(-1)\n': (
        'evicted_p / evicted_p.sum(-1, keepdim=True), v), evicted_p.sum(-1)\n'
    )},
    "kept for evicted": {"p * ~kept": "p * kept"},
    "deviations for values": {"evicted_p, v)": (
        'evicted_p, v - torch.einsum("...s,...sd->...d", p, v)[..., None, :])'
    )},
    "mass of the kept keys": {", evicted_p.sum(-1)\n": ", 1 - evicted_p.sum(-1)\n"},
    "number of keys for mass": {", evicted_p.sum(-1)\n": ", (~kept).double().sum(-1)\n"},
    "mass of all rows": {", evicted_p.sum(-1)\n": ", evicted_p.sum()\n"},
    "factors swapped": {"(1 - m)[..., None] * forced": "m[..., None] * forced"},
    "vector only": {"(1 - m)[..., None] * forced": "forced"},
    "u weighted again": {"* forced + u": "* forced + m[..., None] * u"},
    "sign of u": {"* forced + u": "* forced - u"},
    "forced changed in place": {"(1 - m)[..., None] * forced + u": (
        "forced.mul_((1 - m)[..., None]).add_(u)"
    )},
    "swapped": {
        'return torch.einsum("...s,...sd->...d", evicted_p, v), evicted_p.sum(-1)': (
            'return evicted_p.sum(-1), torch.einsum("...s,...sd->...d", evicted_p, v)'
        ),
    },
}  # fmt: skip

BEST_SUBSET = {
    "the heaviest set": {"error < best_error - 1e-12": (
        "best is None or p[chosen].sum() > p[list(best)].sum()"
    )},
    "not renormalised": {" / p[chosen].sum()": ""},
    "plain mean": {"p[chosen] @ v[chosen] / p[chosen].sum()": "v[chosen].mean(0)"},
    "the last of equal sets": {"error < best_error - 1e-12": "error <= best_error + 1e-12"},
    "rounding decides": {"error < best_error - 1e-12": "error < best_error"},
    "squared error": {"return best, best_error": "return best, best_error**2"},
    "heaviest key always kept": {
        "chosen = list(subset)": (
            "chosen = list(subset)\n        if int(p.argmax()) not in chosen:\n"
            "            continue"
        ),
    },
    "one key too few": {"range(length), size)": "range(length), max(size - 1, 1))"},
    "a list": {"return best, best_error": "return list(best), best_error"},
    "counted from 1": {"return best, best_error": (
        "return tuple(i + 1 for i in best), best_error"
    )},
    "distance to the plain mean": {"mu = p @ v": "mu = v.mean(0)"},
    "largest entry for length": {".norm()": ".abs().max()"},
    "first dimension only": {"(mu - m_A)": "(mu - m_A)[:1]"},
    "size not checked": {"if not 1 <= size <= length:": "if False:"},
    "whole row refused": {"1 <= size <= length": "1 <= size < length"},
    "dropped mass minimised": {"(mu - m_A).norm().item()": "1 - p[chosen].sum().item()"},
}  # fmt: skip

PHI = {
    "plain mean subtracted": {"v - p @ v": "v - v.mean(0)"},
    "not weighted": {"p[:, None] * (v": "(v"},
    "not centred": {"(v - p @ v)": "v"},
    "not divided by the mass": {" / (weights_ns @ p)": ""},
    "divided by the dropped mass": {"/ (weights_ns @ p)": "/ (1 - weights_ns @ p)"},
    "divided by the number of keys": {"/ (weights_ns @ p)": "/ weights_ns.sum(-1)"},
    "all kept deviations built": {"(weights_ns @ gamma_sd)": (
        "(weights_ns[:, :, None] * gamma_sd).sum(1)"
    )},
    "lengths summed": {"(weights_ns @ gamma_sd).norm(dim=-1)": (
        "(weights_ns @ gamma_sd.norm(dim=-1))"
    )},
    "length over the wrong axis": {".norm(dim=-1)": ".norm(dim=0)"},
    "Phi divided by the mass": {"[top].sum(0).norm()": "[top].sum(0).norm() / p[top].sum()"},
    "last of equal weights": {"p.argsort(descending=True, stable=True)[:size]": (
        "p.flip(0).argsort(descending=True, stable=True)[:size].neg() + len(p) - 1"
    )},
    "smallest weights": {"descending=True": "descending=False"},
    "longest deviations": {"p.argsort(": "deviations(p, v).norm(dim=-1).argsort("},
    "lengths summed for Phi": {"[top].sum(0).norm()": "[top].norm(dim=-1).sum()"},
    "a float": {"[top].sum(0).norm()": "[top].sum(0).norm().item()"},
    "single precision": {"kept_ns.to(gamma_sd.dtype)": "kept_ns.float()",
                         "weights_ns @ gamma_sd": "weights_ns @ gamma_sd.float()",
                         "weights_ns @ p": "weights_ns @ p.float()"},
}  # fmt: skip

MUTANTS = {
    "forced_output": FORCED_OUTPUT,
    "factorization": FACTORIZATION,
    "missing_statistic": MISSING_STATISTIC,
    "best_subset": BEST_SUBSET,
    "phi": PHI,
}
