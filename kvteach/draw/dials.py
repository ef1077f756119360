"""Interactive figures with sliders: what moves when one number does.

Like those of kvteach.draw.widgets they return an IPython ``HTML`` object, work without
a kernel, without a network and by keyboard, and show their starting state where no
script runs. What a script looks up was computed by the caller; the rest it recomputes.
"""

import torch

from kvteach.draw import _page as page
from kvteach.rows import gaps

ETAS = [0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001]
LEVELS = 49


def contour(score_lks, floor, entries, key_bytes):
    """Move the threshold; kept keys of every head and the bytes follow.

    score_lks: [L, K, S], the last ``floor`` keys of every head always stay. Starts at
    the level nearest to ``entries`` keys a head. key_bytes: of one key with its value.
    The levels are spaced evenly in log between those that keep the floor and one half.
    Raises ValueError for a floor outside 1 .. S - 1.
    """
    layers, heads, length = score_lks.shape
    if not 1 <= floor < length:
        raise ValueError(f"floor: {floor}; need 1 to {length - 1}")
    free = score_lks[..., :-floor].flatten(0, 1).double()
    # The highest level keeps little more than the floor, the lowest half of all keys.
    least = free[free > 0].min()  # a score may be 0, and 0 has no logarithm
    highest = free.flatten().topk(len(free)).values[-1]
    lowest = free.quantile(0.5).clamp_min(least)
    taus = torch.logspace(highest.log10(), lowest.log10(), LEVELS, dtype=torch.float64)
    counts = torch.stack([(free >= tau).sum(1) + floor for tau in taus])
    start = int((counts.double().mean(1) - entries).abs().argmin())
    names = [f"{tau:.5f}" for tau in taus.tolist()]
    grid = counts[start].view(layers, heads)
    wide = counts.view(LEVELS, layers, heads).amax(2).sum(1) * heads
    data = {"counts": counts.tolist(), "shape": [layers, heads, length], "stops": names,
            "padded": wide.tolist(), "key": key_bytes}
    megabytes = key_bytes / 1e6
    rows = [
        ("mean", "keys a head, mean", f"{grid.double().mean():.1f}"),
        ("few", "fewest and most", f"{grid.min()} to {grid.max()}"),
        ("ragged", "bytes, each head its own length",
         f"{counts[start].sum() * megabytes:.2f} MB"),
        ("padded", "bytes, layers as wide as their widest head",
         f"{wide[start] * megabytes:.2f} MB"),
        ("full", "bytes, nothing evicted",
         f"{len(free) * length * megabytes:.2f} MB"),
    ]
    markup = (
        page.controls(page.slider("level", "threshold τ", names, start))
        + _cells(grid, length) + page.readouts(rows)
    )
    return page.dial("contour", markup, data, "One column a layer, one row a key-value "
                     "head; the fuller its colour, the more keys it keeps.")


def _cells(grid, length):
    """A heat map of counts, each cell with its head and count as a title."""
    layers, heads = grid.shape
    side = (page.WIDE - 4) / layers
    cells = "".join(
        f'<rect x="{2 + side * i:.1f}" y="{20 * k}" width="{side - 0.6:.1f}" height="19" '
        f'fill-opacity="{(int(grid[i, k]) / length) ** 0.5:.3f}">'
        f"<title>layer {i}, head {k}: {int(grid[i, k])} keys</title></rect>"
        for i in range(layers) for k in range(heads)
    )
    return (
        f'<svg class="cells" viewBox="0 0 {page.WIDE} {20 * heads}" role="img" '
        f'aria-label="Keys kept by each of {layers * heads} heads">{cells}</svg>'
    )


def gap_profiles(names, logits):
    """Choose how much mass must stay; the profile shows how many keys hold it.

    names: of the rows, strings; logits: [n, S] or a list of [S], up to a constant.
    """
    profiles = [gaps.profile(row) for row in logits]
    longest = max(len(g) for g in profiles)
    logs = torch.log2(torch.arange(1, longest + 1, dtype=torch.float64)).tolist()
    xs, high = page.across(logs, 0, logs[-1]), 20.0
    rows = []
    for g in profiles:
        ranks = _spread(len(g))
        points = page.upward(g[ranks].clamp_max(high).tolist(), 0, high)
        keys = gaps.keys_for_mass(g, ETAS)
        mass = gaps.top_mass(g)[keys - 1]
        at = page.upward(g[keys - 1].clamp_max(high).tolist(), 0, high)
        rows.append({
            "points": " ".join(f"{xs[i]},{y}" for i, y in zip(ranks.tolist(), points)),
            "keys": keys.tolist(), "n": len(g), "gap": g[keys - 1].tolist(),
            "mass": mass.tolist(), "at": [[xs[k - 1], y] for k, y in zip(keys.tolist(), at)],
        })
    first, start = rows[0], ETAS.index(0.1)
    stops = [f"{1 - eta:.1%}" for eta in ETAS]
    tick_at = [2**e for e in range(0, longest.bit_length(), 2)]
    curve = [point.split(",") for point in first["points"].split()]
    picture = page.chart(
        "Gap profile of the chosen row over the rank, and where the wanted mass is held",
        [("profile", "kept", curve)],
        [(xs[k - 1], k) for k in tick_at],
        [(y, v) for v, y in zip((0, 5, 10, 15, 20), page.upward((0, 5, 10, 15, 20), 0, high))],
        "rank of the key", "gap below the largest logit, nats",
        page.dot(first["at"][start]),
    )
    markup = page.controls(
        page.choice("row", "row", names), page.slider("eta", "mass to hold", stops, start)
    ) + picture + page.readouts([
        ("keys", "keys that it takes", f"{first['keys'][start]} of {first['n']}"),
        ("mass", "mass that they hold", f"{first['mass'][start]:.4f}"),
        ("gap", "gap of the last of them, nats", f"{first['gap'][start]:.2f}"),
    ])
    return page.dial("gaps", markup, {"rows": rows, "stops": stops},
                     "The dot is the last key that is needed; all to its left are held.")


def _spread(length, most=90):
    """Ranks from 0 to length - 1, about evenly spread in log, without repeats."""
    log = torch.linspace(0, torch.tensor(float(length)).log2(), most)
    return (2**log).round().long().clamp(1, length).unique() - 1


def tail_slot(heads, held, plain, slotted):
    """Give up one key for a slot, or not: the error on rows to come.

    heads: their names; held: keys that may be held, ascending integers; plain: errors
    [heads, len(held)] of keys only; slotted: {name of the slot: errors}, same shape and
    the same memory, so one key less. Raises ValueError for shapes that do not fit.
    """
    errors = {"keys only": plain, **slotted}
    for name, values in errors.items():
        if values.shape != (len(heads), len(held)):
            raise ValueError(f"{name}: shape {tuple(values.shape)}; "
                             f"need {(len(heads), len(held))}")
    top = max(values.max().item() for values in errors.values()) * 1.05
    xs = page.across(held, held[0], held[-1])
    lines = [[page.upward(values[h].tolist(), 0, top) for values in errors.values()]
             for h in range(len(heads))]
    stops = [str(count) for count in held]
    start = len(held) // 3
    curves = [("0", "kept", list(zip(xs, lines[0][0]))),
              ("1", "dropped", list(zip(xs, lines[0][1])))]
    ticks = [(xs[i], held[i]) for i in range(0, len(held), max(1, len(held) // 6))]
    heights = (0, top / 2, top / 1.05)
    picture = page.chart(
        "Error on rows to come over the keys that a head holds, with and without a slot",
        curves, ticks, [(y, f"{v:.2f}") for v, y in zip(heights, page.upward(heights, 0, top))],
        "keys, or keys and a slot, held", "relative error",
        page.dot((xs[start], lines[0][0][start])),
    )
    table = [values.tolist() for values in errors.values()]
    markup = page.controls(
        page.choice("head", "head", heads), page.choice("slot", "slot", list(slotted)),
        page.slider("held", "held", stops, start), page.tick("on", "a slot for one key"),
    ) + picture + page.readouts([
        ("what", "held now", f"{stops[start]} keys"),
        ("error", "error of what is held", f"{table[0][0][start]:.3f}"),
        ("other", "error of the other choice", f"{table[1][0][start]:.3f}"),
    ])
    data = {"xs": xs, "lines": lines, "errors": table, "stops": stops}
    return page.dial("slot", markup, data,
                     "Blue: keys only. Orange: one key less, and the slot.")


SEQUENCES = [1, 2, 4, 8, 16, 32, 64, 128]
LENGTHS = [2**e for e in range(10, 18)]
HELD = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0]


def decode_step(machines, parameters, bytes_per_token, group_size, itemsize=2):
    """Choose users, tokens and how much of the cache is held: what a step waits for.

    machines: of kvteach.evaluate.roofline, with name, bandwidth and peak. The other
    numbers are those of roofline.decode_step, whose formula the page recomputes:

        bytes = parameters itemsize + users tokens held bytes_per_token
        FLOP  = 2 users parameters + 2 group_size (bytes of the cache) / itemsize

    and the least time is the larger of bytes / bandwidth and FLOP / peak.
    """
    users, tokens, held = 8, 32_768, 1.0
    cache = users * tokens * held * bytes_per_token
    flop = 2 * users * parameters + 2 * group_size * cache / itemsize
    now = machines[0]
    times = [1000 * x for x in (parameters * itemsize / now.bandwidth,
                                cache / now.bandwidth, flop / now.peak)]
    least = max(times[0] + times[1], times[2])
    names = ["reading the weights", "reading the cache", "arithmetic"]
    markup = page.controls(
        page.choice("machine", "machine", [m.name for m in machines]),
        page.slider("users", "users", [str(x) for x in SEQUENCES], SEQUENCES.index(users)),
        page.slider("tokens", "tokens each", [f"{x:,}" for x in LENGTHS],
                    LENGTHS.index(tokens)),
        page.slider("held", "cache held", [f"{x:.0%}" for x in HELD], HELD.index(held)),
    ) + page.bars(names, [("ms", times)], max(times)) + page.readouts([
        ("cache", "bytes of the cache", f"{cache / 1e9:.1f} GB"),
        ("least", "least milliseconds of a step", f"{least:.2f}"),
        ("rate", "tokens a second, all users", f"{1000 * users / least:.1f}"),
        ("limit", "what it waits for",
         "memory" if times[0] + times[1] >= times[2] else "arithmetic"),
    ])
    data = {"machines": [[m.bandwidth, m.peak] for m in machines], "users": SEQUENCES,
            "tokens": LENGTHS, "held": HELD, "parameters": parameters,
            "token": bytes_per_token, "group": group_size, "item": itemsize}
    return page.dial("step", markup, data, "Milliseconds of one step, each bar by itself. "
                     "Memory and arithmetic overlap, so the longer of the two counts.")
