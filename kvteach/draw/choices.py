"""Interactive figures about choosing: which rows vote, which head, which action.

Built like kvteach.draw.dials: no kernel, no network, by keyboard.
"""

import math

import torch

from kvteach.budgets.pages import page_scores
from kvteach.compile import cql
from kvteach.draw import _page as page
from kvteach.scores import pooled

TAUS = torch.logspace(math.log10(0.02), math.log10(50), 35, dtype=torch.float64).tolist()
CAUTIONS = [x / 20 for x in range(31)]
SHARES = [0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
KEPT = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]


def ranking_rows(conditions, windows, share=0.25):
    """Choose which rows rank the keys, and how many: who still holds the fact.

    conditions: {name: (place, length)}; place, int [len(windows), heads], is that of
    the fact's worst key among the ``length`` keys of a head, from 0: the head holds
    the fact if it keeps more keys than that. Raises ValueError for other shapes.
    """
    for name, (place, _) in conditions.items():
        if place.ndim != 2 or len(place) != len(windows):
            raise ValueError(f"conditions[{name!r}]: places of shape "
                             f"{tuple(place.shape)}; need [{len(windows)}, heads]")
    kept = [[int(s * length) for s in KEPT] for _, length in conditions.values()]
    holds = [[(place < k).sum(1).tolist() for k in counts]
             for (place, _), counts in zip(conditions.values(), kept)]
    heads = next(iter(conditions.values()))[0].shape[1]
    xs = page.across([math.log2(w) for w in windows], math.log2(windows[0]),
                     math.log2(windows[-1]))
    lines = [[page.upward(row, 0, heads) for row in condition] for condition in holds]
    at, start = KEPT.index(share), len(windows) // 2
    kinds = ("kept", "dropped", "third")
    curves = [(str(i), kinds[i % 3], list(zip(xs, condition[at])))
              for i, condition in enumerate(lines)]
    marks = (0, heads // 2, heads)
    picture = page.chart(
        "Heads that hold the whole fact, over the number of rows that rank the keys",
        curves, [(x, w) for x, w in zip(xs, windows)],
        list(zip(page.upward(marks, 0, heads), marks)),
        "rows that vote", "heads that hold the fact", page.dot((xs[start], lines[0][at][start])),
    )
    lengths = [length for _, length in conditions.values()]
    shares = [f"{s:.0%}" for s in KEPT]
    markup = page.controls(
        page.choice("who", "ranked by", list(conditions)),
        page.slider("rows", "rows", [str(w) for w in windows], start),
        page.slider("share", "keys kept", shares, at),
    ) + picture + page.readouts([
        ("held", "heads that hold all of the fact", f"{holds[0][at][start]} of {heads}"),
        ("keys", "keys that each head keeps", f"{kept[0][at]} of {lengths[0]}"),
    ])
    data = {"xs": xs, "holds": holds, "lines": lines, "heads": heads, "kept": kept,
            "lengths": lengths, "windows": list(windows), "shares": shares}
    colours = ("Blue", "Orange", "Green")
    caption = ". ".join(f"{c}: {name}" for c, name in zip(colours, conditions)) + "."
    return page.dial("voters", markup, data, caption)


def vote_temperature(groups, place, tau=0.5, size=16):
    """Turn the temperature of a group's vote: who decides, and the needle's rank.

    groups: {name: weights [R, S]} of heads over one cache; place: of the needle's best
    key, an integer; pages hold ``size`` keys. Starts at the temperature nearest to
    ``tau``. Of every page only keys that no other key of the page beats in all heads
    are sent along: no vote can rank another first.
    """
    needle = place // size
    packed = [_group(heads, size) for heads in groups.values()]
    start = min(range(len(TAUS)), key=lambda i: abs(math.log(TAUS[i] / tau)))
    heads = next(iter(groups.values()))
    vote = pooled.vote(pooled.renyi(pooled.isolated(heads)), TAUS[start])
    by_vote, by_mean = (_stand(w, heads, needle, size)
                        for w in (vote, torch.full_like(vote, 1 / len(vote))))
    stops = [f"{t:.2f}" if t < 10 else f"{t:.0f}" for t in TAUS]
    entropy = packed[0]["entropy"]
    names = [f"head {h}, entropy {entropy[h]:.2f}" for h in range(len(vote))]
    markup = page.controls(
        page.choice("group", "group", list(groups)),
        page.slider("tau", "temperature τ", stops, start),
    ) + page.bars(names, [("vote", vote.tolist())], 1) + page.readouts([
        ("pooled", "the needle's page: its weight by the vote", f"{by_vote[0]:.4f}"),
        ("mean", "its weight by the mean of the heads", f"{by_mean[0]:.4f}"),
        ("rank", "its place by the vote", f"{by_vote[1]} of {by_vote[2]}"),
        ("place", "its place by the mean", f"{by_mean[1]} of {by_mean[2]}"),
    ])
    data = {"groups": packed, "taus": TAUS, "stops": stops, "needle": needle}
    return page.dial("vote", markup, data, "Bars: the vote of each head of the group.")


def _group(heads, size):
    """Entropies, and for every page its keys that may be best, [keys][R]."""
    entropy = pooled.renyi(pooled.isolated(heads))
    kept = [[[float(f"{x:.5g}") for x in key] for key in _front(part.T).tolist()]
            for part in heads.double().split(size, -1)]
    return {"entropy": entropy.tolist(), "pages": kept}


def _front(keys_sr):
    """The keys that no other is as good as in every head and better in one."""
    as_good = (keys_sr[:, None] >= keys_sr).all(2)  # [i, j]: i is as good as j
    beaten = (as_good & ~as_good.T).any(0)
    return keys_sr[~beaten].unique(dim=0)


def _stand(weight, heads, needle, size):
    """Weight and place of the needle's page, ties against it, and how many there are."""
    page_n = page_scores((weight[:, None] * heads.double()).sum(0), size)
    return page_n[needle].item(), int((page_n >= page_n[needle]).sum()), len(page_n)


def caution(mean, first=0.1, conservatism=0.75):
    """Turn the conservative term: which action the table chooses.

    mean: the actions' mean rewards, the first is the best; ``first`` is the share of
    trials that it got, the others share the rest. Values are those of
    kvteach.compile.cql.solve, recomputed in the page. Raises ValueError for a start
    that is not among the stops.
    """
    if first not in SHARES or conservatism not in CAUTIONS:
        raise ValueError(f"first, conservatism: {first}, {conservatism}; need a share of "
                         f"{SHARES} and a number from 0 to 1.5 in steps of 0.05")
    many = 1e6
    share = [first] + [(1 - first) / (len(mean) - 1)] * (len(mean) - 1)
    counts = torch.tensor([share], dtype=torch.float64) * many
    means = torch.tensor([list(mean)], dtype=torch.float64)
    q = cql.solve(cql.Summary(means, counts), conservatism)[0].tolist()
    chosen = max(range(len(q)), key=q.__getitem__)
    c_at, share_at = CAUTIONS.index(conservatism), SHARES.index(first)
    names = [f"action {a}" for a in range(len(mean))]
    top = max(mean) + 0.9
    markup = page.controls(
        page.slider("c", "conservative term c", [f"{c:.2f}" for c in CAUTIONS], c_at),
        page.slider("share", "share of trials of action 0", [f"{s:.0%}" for s in SHARES],
                    share_at),
    ) + page.bars(names, [("before", list(mean)), ("q", q)], top) + page.readouts([
        ("chosen", "chosen", names[chosen]),
        ("lost", "worth given up", f"{max(mean) - mean[chosen]:.2f}"),
    ])
    data = {"mean": list(mean), "cautions": CAUTIONS, "shares": SHARES, "top": top}
    return page.dial("caution", markup, data,
                     "Grey: the mean reward, known exactly. Colour: the learned value.")
