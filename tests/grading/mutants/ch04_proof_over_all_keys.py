"""Wrong answers to the exercises of chapter 04."""

WITH_FLOOR = {
    "no floor": {"if mass < least_mass:": "if False:"},
    "a share of 1": {"floor * p.sort(descending=True).values[:size].sum()": "floor"},
    "a share of the heaviest key": {"values[:size].sum()": "values[0]"},
    "a share of the lightest set": {"descending=True": "descending=False"},
    "a cap, not a floor": {"mass < least_mass": "mass > least_mass"},
    "rounding excludes": {" - 1e-12\n": " + 1e-15\n"},
    "a generous floor": {" - 1e-12\n": " - 0.05\n"},
    "a floor on the error": {"if mass < least_mass:": "if gamma[chosen].norm() < floor:"},
    "the best set is then checked": {"        if mass < least_mass:\n            continue\n": "",
        "    return best, best_error\n": (
            "    if p[list(best)].sum() < least_mass:\n"
            "        best = tuple(sorted(p.argsort(descending=True)[:size].tolist()))\n"
            "    return best, best_error\n"
        ),
    },
    "the heaviest set": {"if error < best_error - 1e-12:": "if best is None or mass > p[list(best)].sum():"},
    "the last of equal sets": {"error < best_error - 1e-12": "error <= best_error + 1e-12"},
    "lengths without the mass": {"gamma[chosen].sum(0).norm() / mass": "gamma[chosen].sum(0).norm()"},
    "every key for itself above the floor": {"mass < least_mass": (
        "(p[chosen] < floor * p.max()).any()"
    )},
    "the plain mean": {"v - p @ v": "v - v.mean(0)"},
    "nothing refused": {"if not 0 <= floor <= 1:": "if False:"},
    "a negative floor accepted": {"not 0 <= floor <= 1": "floor > 1"},
}  # fmt: skip

PARTITION_GADGET = {
    "numbers for weights": {
        "p = torch.full((m,), 1 / m, dtype=torch.float64)": (
            "p = torch.tensor(numbers, dtype=torch.float64) / sum(numbers)"
        ),
    },
    "one dimension too few": {"dtype=torch.float64)[:, None]": "dtype=torch.float64)",
                              "v[:, 0] - p @ v[:, 0]": "v - p @ v"},
    "single precision": {"torch.tensor(numbers, dtype=torch.float64)": (
        "torch.tensor(numbers, dtype=torch.float32)"
    ), "v[:, 0] - p @ v[:, 0]": "v[:, 0].double() - p @ v[:, 0].double()"},
    "all keys kept": {"return p, v, m // 2": "return p, v, m",
                      "size = gadget(padded)": "size = gadget(padded)\n    size //= 2"},
    "odd counts accepted": {"if m < 2 or m % 2:": "if m < 2:"},
    "no numbers accepted": {"if m < 2 or m % 2:": "if m % 2:",
                            "1 / m,": "1 / max(m, 1),"},
    "exactly 0": {"error < 0.5 / len(numbers)": "error == 0"},
    "a tolerance of habit": {"error < 0.5 / len(numbers)": "error < 1e-9"},
    "a threshold without m": {"error < 0.5 / len(numbers)": "error < 0.5"},
    "a threshold on 1 / m": {"error < 0.5 / len(numbers)": "error <= 1 / len(numbers)"},
    "the published gap": {"error < 0.5 / len(numbers)": "error < 2 / len(numbers)**2"},
    "relative to the sum": {"error < 0.5 / len(numbers)": "error < 1e-12 * sum(numbers)"},
    "a tensor for a bool": {"return error <": "return torch.tensor(error) <"},
    "equal parts only": {
        "padded = numbers + [0] * n": "padded = numbers + [0] * (n % 2)",
        "range(2 * n)": "range(n + n % 2)",
    },
    "one zero": {
        "padded = numbers + [0] * n": "padded = numbers + [0] * (2 - n % 2)",
        "range(2 * n)": "range(n + 2 - n % 2)",
    },
    "zeros in the part": {"tuple(j for j in best if j < n)": "tuple(best)"},
    "numbers for indices": {"tuple(j for j in best if j < n)": (
        "tuple(sorted(numbers[j] for j in best if j < n))"
    )},
    "the best try": {"if not is_half(error, padded):": "if False:"},
    "an even sum is enough": {"if not is_half(error, padded):": "if sum(numbers) % 2:"},
    "never": {"if not is_half(error, padded):": "if True:"},
    "the heaviest first": {"best = min(sets, key=lambda A: abs(gamma[list(A)].sum()))": (
        "best = next(sets)"
    )},
    "the least sum": {"abs(gamma[list(A)].sum()))": "gamma[list(A)].sum())"},
}  # fmt: skip

NODE_BOUND = {
    "the largest costs": {"sorted(free)[:choices]": "sorted(free)[len(free) - choices :]"},
    "the first keys": {"sorted(free)[:choices]": "free[:choices]"},
    "the negative costs only": {"sum(sorted(free)[:choices])": (
        "sum(c for c in sorted(free)[:choices] if c < 0)"
    )},
    "as many negative ones as there are": {"sum(sorted(free)[:choices])": (
        "sum(c for c in free if c < 0)"
    )},
    "no level": {"gamma @ w - level * p": "gamma @ w"},
    "level added": {"gamma @ w - level * p": "gamma @ w + level * p"},
    "level once": {"gamma @ w - level * p": "gamma @ w", "return float(taken": "return float(taken - level"},
    "lengths for components": {"gamma @ w - level * p": "gamma.norm(dim=1) - level * p"},
    "sizes of components": {"gamma @ w - level * p": "(gamma @ w).abs() - level * p"},
    "included keys not paid": {"float(taken + sum": "float(sum"},
    "included keys chosen again": {"{*included, *excluded}": "{*excluded}"},
    "excluded keys chosen": {"{*included, *excluded}": "{*included}"},
    "size not reduced": {"choices = size - len(included)": "choices = size"},
    "no set is 0": {"return math.inf": "return 0.0"},
    "no set is refused": {"return math.inf": "raise ValueError('size')"},
    "too many included": {"if not 0 <= choices <= len(free)": "if choices > len(free)"},
    "too few left": {"if not 0 <= choices <= len(free)": "if choices < 0"},
    "a complete set has no bound": {"0 <= choices <= len(free)": "0 < choices <= len(free)"},
    "long directions accepted": {"if w.norm() > 1 + 1e-9:": "if False:"},
    "rounding refused": {"w.norm() > 1 + 1e-9": "w.norm() > 1 - 1e-9"},
    "short directions made long": {"costs = (gamma @ w": "w = w / w.norm().clamp_min(1e-300)\n    costs = (gamma @ w"},
    "a tensor": {"return float(taken + sum(sorted(free)[:choices]))": (
        "return torch.tensor(float(taken + sum(sorted(free)[:choices])))"
    )},
    "the mean": {"sum(sorted(free)[:choices]))": "sum(sorted(free)[:choices]) / size)"},
}  # fmt: skip

FRANK_WOLFE_STEP = {
    "the largest costs": {"costs.argsort(stable=True)": "costs.argsort(stable=True, descending=True)"},
    "no level in the oracle": {"costs = gamma @ w - level * p": "costs = gamma @ w"},
    "level added in the oracle": {"gamma @ w - level * p": "gamma @ w + level * p"},
    "the last of equal keys": {"chosen = costs.argsort(stable=True)[:size]": (
        "chosen = len(p) - 1 - costs.flip(0).argsort(stable=True)[:size]"
    )},
    "in order of cost": {"chosen.sort().values.tolist()": "chosen.tolist()"},
    "a list": {"tuple(chosen.sort().values.tolist())": "chosen.sort().values.tolist()"},
    "the squared length minimised": {"(u - b) / c": "(slope - b) / c"},
    "level ignored in the step": {"slope = level * (target_mass - mass)": "slope = 0.0"},
    "the sign of the slope": {"level * (target_mass - mass)": "level * (mass - target_mass)"},
    "not cut at 1": {"min(1.0, max(0.0, (u - b) / c))": "max(0.0, (u - b) / c)"},
    "not cut at 0": {"min(1.0, max(0.0, (u - b) / c))": "min(1.0, (u - b) / c)"},
    "the whole way": {"return min(1.0, max(0.0, (u - b) / c))": "return 1.0"},
    "half the way": {"return min(1.0, max(0.0, (u - b) / c))": "return 0.5"},
    "a grid of a hundred": {"return min(1.0, max(0.0, (u - b) / c))": (
        "return round(100 * min(1.0, max(0.0, (u - b) / c))) / 100"
    )},
    "steep slopes not told apart": {"if abs(slope) >= math.sqrt(c):": "if slope >= math.sqrt(c):",
        "h / (c - slope * slope)": "h / abs(c - slope * slope)"},
    "steep slopes always to the end": {
        "if abs(slope) >= math.sqrt(c):\n        return 1.0 if slope > 0 else 0.0": (
            "if abs(slope) >= math.sqrt(c):\n        return 1.0"
        ),
    },
    "0 / 0 on the spot": {"if c == 0:\n        return 1.0 if slope > 0 else 0.0": "pass",
                          "abs(slope) >= math.sqrt(c)": "abs(slope) > math.sqrt(c)"},
    "the spot is never left": {"if c == 0:\n        return 1.0 if slope > 0 else 0.0": (
        "if c == 0:\n        return 0.0"
    )},
    "the direction not made long 1": {"w = y / length if": "w = y if"},
    "0 / 0 at 0": {"w = y / length if length > 0 else torch.zeros_like(y)": "w = y / length"},
    "the opposite direction": {"w = y / length if": "w = -y / length if"},
    "the mass does not move": {", mass + t * (target_mass - mass)\n": ", mass\n"},
    "the mass of the target": {", mass + t * (target_mass - mass)\n": ", target_mass\n"},
    "the mean of the target": {"gamma[list(indices)].sum(0)": "gamma[list(indices)].mean(0)"},
    "the height for the bound": {"return bound, y +": "return (length - level * mass).item(), y +"},
    "the bound of the next direction": {"    # y stays in": (
        "    new = y + t * (target - y)\n"
        "    bound = oracle(gamma, p, new / new.norm().clamp_min(1e-300), level, size)[1]\n"
        "    # y stays in"
    )},
    "away from the target": {"y + t * (target - y)": "y - t * (target - y)"},
    "y changed in place": {"return bound, y + t * (target - y)": "return bound, y.add_(t * (target - y))"},
}  # fmt: skip

BRANCH_AND_BOUND = {
    "the heaviest set": {"    nodes = 0\n": (
        "    return tuple(best), float(best_error), 1\n    nodes = 0\n"
    )},
    "the root only": {"while open_nodes:": "while open_nodes and nodes < 1:"},
    "the excluding branch lost": {"        open_nodes.append((included, rest, w))\n": ""},
    "the including branch lost": {"        open_nodes.append((included + [key], rest, w))\n": ""},
    "three nodes": {"while open_nodes:": "while open_nodes and nodes < 3:"},
    "closed too early": {"bound >= -1e-12 * best_error": "bound >= -0.2 * best_error"},
    "nothing closed": {"bound >= -1e-12 * best_error": "False"},
    "one direction that is 0": {"range(20)": "range(1)", ", w))\n": ", 0 * w))\n"},
    "the level added": {"gamma[free] @ w - best_error": "gamma[free] @ w + best_error"},
    "the mass of included keys left out": {"start @ w - best_error * start_mass + costs": (
        "start @ w + costs"
    )},
    "direction too long": {"w = y / np.linalg.norm(y)": "w = 3 * y / np.linalg.norm(y)"},
    "one node": {"float(best_error), nodes\n": "float(best_error), 1\n"},
    "nodes not counted": {"float(best_error), nodes\n": "float(best_error), 0\n"},
    "the squared error": {"float(best_error), nodes\n": "float(best_error) ** 2, nodes\n"},
    "not divided by the mass": {".norm(gamma[keys].sum(0)) / p[keys].sum()": (
        ".norm(gamma[keys].sum(0))"
    )},
    "the whole row refused": {"choices > len(free)": "choices >= len(free)"},
    "unsorted": {"best, best_error = sorted(keys), error": (
        "best, best_error = sorted(keys, reverse=True), error"
    )},
    "in order of inclusion": {"best, best_error = sorted(keys), error": (
        "best, best_error = keys, error"
    )},
    "a set too large": {"offer(included + free[:choices])": "offer(included + free)"},
    "a start that is never replaced": {"if error < best_error:": "if best is None:"},
}  # fmt: skip

MUTANTS = {
    "with_floor": WITH_FLOOR,
    "partition_gadget": PARTITION_GADGET,
    "node_bound": NODE_BOUND,
    "frank_wolfe_step": FRANK_WOLFE_STEP,
    "branch_and_bound": BRANCH_AND_BOUND,
}
