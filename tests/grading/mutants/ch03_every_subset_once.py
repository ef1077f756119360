"""Wrong answers to the exercises of chapter 03."""

PUBLISHED_POOL = {
    "the first pool that is too large": {"return extras\n": "return extras + 1\n"},
    "a limit met exactly counts as exceeded": {"size) <= limit": "size) < limit"},
    "at most 24 forgotten": {"extras < most and ": ""},
    "at most 24, whatever most is": {"extras < most": "extras < 24"},
    "ordered choices counted": {"math.comb(size + extras + 1, size)": (
        "math.perm(size + extras + 1, size)"
    )},
    "powers of two counted": {"math.comb(size + extras + 1, size)": "2 ** (size + extras + 1)"},
    "the whole pool returned": {"return extras\n": "return size + extras\n"},
    "the next weights": {"pull = p * (v - p @ v).norm(dim=-1)": "pull = p.clone()"},
    "the output not subtracted": {"(v - p @ v)": "v"},
    "the plain mean subtracted": {"(v - p @ v)": "(v - v.mean(0))"},
    "the pull not weighted": {"pull = p * (v": "pull = (v"},
    "the top-mass keys twice": {"pull[top] = -1.0": "pass"},
    "the last of equal weights": {"top = p.argsort(descending=True, stable=True)[:size]": (
        "top = len(p) - 1 - p.flip(0).argsort(descending=True, stable=True)[:size]"
    )},
    "the last of equal pulls": {"others = pull.argsort(descending=True, stable=True)": (
        "others = len(p) - 1 - pull.flip(0).argsort(descending=True, stable=True)"
    )},
    "in order of position": {"return torch.cat([top, others[:extras]])": (
        "return torch.cat([top, others[:extras]]).sort().values"
    )},
    "the keys of a short row twice": {"[: len(p) - size]": ""},
    "a list": {"return torch.cat([top, others[:extras]])": (
        "return torch.cat([top, others[:extras]]).tolist()"
    )},
}  # fmt: skip

GRAM_ERRORS = {
    "the plain mean subtracted": {"(v - p @ v)": "(v - v.mean(0))"},
    "the output not subtracted": {"(v - p @ v)": "v"},
    "the deviations not weighted": {"p[:, None] * (v": "(v"},
    "W ignored": {"gamma = gamma @ through.T": "pass"},
    "W applied twice": {"gamma @ through.T": "gamma @ through.T @ through"},
    "W transposed": {"gamma @ through.T": "gamma @ through.reshape(gamma.shape[1], -1)"},
    "W on the values only": {"gamma = gamma @ through.T": (
        "gamma = p[:, None] * (v @ through.T - (v @ through.T).mean(0))"
    )},
    "cosines": {"return gamma @ gamma.T": (
        "return torch.nn.functional.normalize(gamma) "
        "@ torch.nn.functional.normalize(gamma).T"
    )},
    "the Gram matrix of the dimensions": {"return gamma @ gamma.T": "return gamma.T @ gamma"},
    "the root of a negative number": {".clamp_min(0.0)": ""},
    "the absolute value under the root, and a floor": {".clamp_min(0.0)": ".clamp_min(1e-6)"},
    "squared errors": {"square.clamp_min(0.0).sqrt() / (x @ p)": (
        "square.clamp_min(0.0) / (x @ p) ** 2"
    )},
    "not divided by the mass": {" / (x @ p)": ""},
    "divided by the dropped mass": {"/ (x @ p)": "/ (1 - x @ p).clamp_min(1e-9)"},
    "divided by the number of keys": {"/ (x @ p)": "/ x.sum(1)"},
    "only the diagonal of G": {"((x @ G) * x).sum(dim=1)": "x @ G.diagonal()"},
    "an N by N matrix": {"((x @ G) * x).sum(dim=1)": "(x @ G @ x.T).diagonal()"},
    "summed over the sets": {"((x @ G) * x).sum(dim=1)": (
        "((x @ G) * x).sum(dim=0).repeat(len(x))[: len(x)]"
    )},
    "single precision": {"x = kept_ns.to(G.dtype)": (
        "x, G, p = kept_ns.float(), G.float(), p.float()"
    ), "/ (x @ p)": "/ (x @ p)).double()", "return square": "return (square"},
}  # fmt: skip

DINKELBACH = {
    "masses not squared": {"level**2 * masses**2": "level**2 * masses"},
    "level not squared": {"level**2 * masses**2": "level * masses**2"},
    "nothing squared": {"level**2 * masses**2": "level * masses"},
    "level added": {"squares - level": "squares + level"},
    "the least ratio at once": {
        "index = int(difference.argmin())": "index = int((squares / masses**2).argmin())",
    },
    "the largest difference": {"difference.argmin()": "difference.argmax()"},
    "the least sum": {"index = int(difference.argmin())": "index = int(squares.argmin())"},
    "the last of equal sets": {"int(difference.argmin())": (
        "len(difference) - 1 - int(difference.flip(0).argmin())"
    )},
    "a tensor for the value": {"difference[index].item()": "difference[index]"},
    "no round": {"while True:\n": "while True:\n        return index, levels\n"},
    "one round": {"        levels.append(error)\n": (
        "        levels.append(error)\n        return index, levels\n"
    )},
    "the sign alone, a hundred times": {
        "while True:": "for _ in range(100):",
        "value >= 0 or error >= levels[-1] * (1 - 1e-12)": "value >= 0",
        "        levels.append(error)\n": (
            "        levels.append(error)\n    return index, levels\n"
        ),
    },
    "an absolute tolerance": {"value >= 0 or": "value >= -1e-12 or"},
    "an absolute step": {"levels[-1] * (1 - 1e-12)": "levels[-1] - 1e-9"},
    "a level that is entered twice": {
        "            return index, levels\n": "            return index, levels + levels[-1:]\n",
    },
    "the start returned": {"            return index, levels": "            return start, levels"},
    "squared levels": {
        "levels = start, [math.sqrt(squares[start]) / masses[start].item()]": (
            "levels = start, [(squares[start] / masses[start]**2).item()]"
        ),
        "error = math.sqrt(squares[found]) / masses[found].item()": (
            "error = (squares[found] / masses[found]**2).item()"
        ),
        "lowest(squares, masses, levels[-1])": (
            "lowest(squares, masses, math.sqrt(levels[-1]))"
        ),
    },
    "halved instead": {"levels.append(error)": "levels.append(max(error, levels[-1] / 2))"},
    "level 0 avoided": {"lowest(squares, masses, levels[-1])": (
        "lowest(squares.clamp_min(1e-9), masses, levels[-1])"
    ), "error = math.sqrt(squares[found])": "error = math.sqrt(squares[found].clamp_min(1e-9))"},
    "only the error of the end": {"return index, levels": "return index, levels[-1]"},
}  # fmt: skip

SWAP_SEARCH = {
    "no swap": {"while True:\n": (
        "while True:\n        g, mass = gamma[kept].sum(0), p[kept].sum()\n"
        "        return tuple(kept), (g.norm() / mass).item(), swaps\n"
    )},
    "one swap": {"if errors[leaving": "if swaps or errors[leaving"},
    "the first swap that helps": {"tied = errors <= errors.min() * (1 + 1e-12)": (
        "tied = errors < error * (1 - 1e-12)"
    )},
    "a random good start is not top-mass": {"p.argsort(descending=True, stable=True)": (
        "gamma.norm(dim=-1).argsort(descending=True, stable=True)"
    )},
    "the last of equal weights": {"p.argsort(descending=True, stable=True)[:size].tolist()": (
        "(len(p) - 1 - p.flip(0).argsort(descending=True, stable=True)[:size]).tolist()"
    )},
    "any key may enter": {"set(pool) - set(kept)": "set(range(len(p))) - set(kept)"},
    "keys of the pool start": {"    swaps = 0\n": (
        "    kept = sorted(sorted(kept, key=lambda j: j not in pool)[:size])\n"
        "    swaps = 0\n"
    ), "[:size].tolist())": ".tolist(), key=lambda j: -p[j].item())"},
    "only keys of the pool may leave": {"errors = pulls.norm(dim=-1) / (mass - p[kept][:, None] + p[outside])": (
        "errors = pulls.norm(dim=-1) / (mass - p[kept][:, None] + p[outside])\n"
        "        errors[[k not in pool for k in kept]] = 1e9"
    )},
    "the mass stays": {"(mass - p[kept][:, None] + p[outside])": "mass"},
    "lengths of the sum compared": {"pulls.norm(dim=-1) / (mass - p[kept][:, None] + p[outside])": (
        "pulls.norm(dim=-1)"
    ), "error = (g.norm() / mass).item()": "error = g.norm().item()"},
    "the signs of the swap": {"g - gamma[kept][:, None] + gamma[outside]": (
        "g + gamma[kept][:, None] - gamma[outside]"
    )},
    "the last of equal swaps": {"divmod(int(tied.flatten().int().argmax()), len(outside))": (
        "divmod(tied.numel() - 1 - int(tied.flatten().flip(0).int().argmax()), len(outside))"
    )},
    "entering before leaving": {"leaving, entering = divmod(int(tied.flatten().int().argmax()), len(outside))": (
        "entering, leaving = divmod(int(tied.T.flatten().int().argmax()), len(kept))"
    )},
    "size confused with pool": {
        "divmod(int(tied.flatten().int().argmax()), len(outside))": (
            "divmod(int(tied.flatten().int().argmax()), max(len(kept), len(outside)))"
        ),
    },
    "swaps counted once more": {"error, swaps\n        # All": "error, swaps + 1\n        # All"},
    "the error before the swap": {"        swaps += 1\n": (
        "        swaps += 1\n        last = error\n"
    ), "            return tuple(kept), error, swaps\n        kept": (
        "            return tuple(kept), last if swaps else error, swaps\n        kept"
    )},
    "unsorted": {"    kept.sort()\n": "    pass\n"},
    "nobody outside": {"if not outside:": "if False:"},
    "the least mass dropped": {"p[kept][:, None] + p[outside])": (
        "p[kept][:, None] + p[outside]).square()"
    )},
}  # fmt: skip

HALF_SUBSETS = {
    "one subset missing": {"subsets = list(itertools.combinations(range(n), k))": (
        "subsets = list(itertools.combinations(range(n), k))[: max(1, math_comb(n, k) - 1)]"
    ), "import itertools\n": "import itertools\nfrom math import comb as math_comb\n"},
    "one key of k": {"range(n), k))": "range(n), min(k, 1)))"},
    "single precision": {"n, dtype=torch.float64)": "n)"},
    "up to k keys": {"subsets = list(itertools.combinations(range(n), k))": (
        "subsets = [s for i in range(k + 1) for s in itertools.combinations(range(n), i)]"
    )},
    "the mixed term once": {"2 * left @ H": "left @ H"},
    "left alone missing": {"left_alone, torch.ones": "0 * left_alone, torch.ones"},
    "right alone missing": {"right_alone), right_alone]": "right_alone), 0 * right_alone]"},
    "diagonal for the form": {"((left @ H[:a, :a]) * left)": "(left * H[:a, :a].diagonal())"},
    "the left block for the right half": {"(right @ H[a:, a:])": (
        "(right @ torch.nn.functional.pad(H, (0, 9, 0, 9))"
        "[: right.shape[1], : right.shape[1]])"
    )},
    "ones in the wrong column": {
        "columns = [right, torch.ones_like(right_alone), right_alone]": (
            "columns = [right, right_alone, torch.ones_like(right_alone)]"
        ),
    },
    "n wide": {"return torch.cat(rows, 1), torch.cat(columns, 1)": (
        "x = torch.zeros(len(left), a)\n"
        "    return torch.cat([*rows, x], 1), torch.cat([*columns, x[:1].expand("
        "len(right), -1)], 1)"
    )},
    "equal halves only": {"range(max(0, size - b), min(a, size) + 1)": (
        "range(min(a, size // 2), min(a, size // 2) + 1)"
    )},
    "all keys on one side left out": {"range(max(0, size - b), min(a, size) + 1)": (
        "range(max(min(1, a), size - b), min(a, size) + 1)"
    )},
    "the last group left out": {"min(a, size) + 1)": "max(min(a, size), max(0, size - b) + 1))"},
    "halves of any size": {"group(b, size - k)": (
        "torch.cat([group(b, j) for j in range(b + 1)])"
    )},
    "the left half has one more key": {"a, b = n // 2, n - n // 2": "a, b = n - n // 2, n // 2",
        "range(max(0, size - b), min(a, size) + 1)": "range(max(0, size - b), min(b, size) + 1)",
    },
    "the last group wins": {"if products[i, j] < least:": "if True:"},
    "the largest value": {"int(products.argmin())": "int(products.argmax())"},
    "row and column swapped": {"i, j = divmod(int(products.argmin()), len(right))": (
        "j, i = divmod(int(products.argmin()), len(left))\n"
        "        i, j = i % len(left), j % len(right)"
    )},
    "every subset for itself": {"    n = len(H)\n    a, b": (
        "    n = len(H)\n    sets = itertools.combinations(range(n), size)\n"
        "    return min((H[list(s)][:, list(s)].sum().item(), s) for s in sets)\n"
        "    a, b"
    )},
}  # fmt: skip

MUTANTS = {
    "published_pool": PUBLISHED_POOL,
    "gram_errors": GRAM_ERRORS,
    "dinkelbach": DINKELBACH,
    "swap_search": SWAP_SEARCH,
    "half_subsets": HALF_SUBSETS,
}
