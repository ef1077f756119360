"""The four figures of a map, from its summary.json, in the layout of the paper's.

"Trust the Mass" (arXiv 2608.25230), figures 1 to 4. Each function returns a
matplotlib figure; `save_all` writes those that a summary has data for.
"""

from pathlib import Path

import numpy as np

from kvteach.draw import style

AUDITED = "8"  # the budget of the maps, the rules and the cross-entropy


def ceiling(summary):
    """Figure 1: what no set of the pool can close, what the best one closes, by budget.

    The error of the heaviest keys is 1. The mark is the balancing selector.
    """
    sizes = summary["solved_budgets"]
    best = np.array([summary["table_8"][str(s)]["closure"] for s in sizes], float)
    balanced = [summary["table_1"][str(s)]["balanced_closure"][0] for s in sizes]
    figure, ax = _figure(4.8, 3.2)
    at = np.arange(len(sizes))
    ax.bar(at, 1 - best[:, 0], color=style.MUTED, width=0.6)
    ax.bar(at, best[:, 0], bottom=1 - best[:, 0], color=style.KEPT, width=0.6)
    ends = [best[:, 2] - best[:, 0], best[:, 0] - best[:, 1]]
    ax.errorbar(at, 1 - best[:, 0], yerr=ends, fmt="none", ecolor="black", capsize=3)
    ax.plot(at, 1 - np.array(balanced), "D", color=style.EVICTED, ms=5, ls="none")
    ax.set_xticks(at, [f"s = {s}" for s in sizes])
    lowest = (1 - best[:, 2]).min()
    ax.set(ylim=(max(0, lowest - 0.1), 1.01), ylabel="median error, heaviest keys = 1")
    return figure


def cells(summary, budget=AUDITED):
    """Figure 2: median dropped mass and median gap ratio of every layer and head."""
    data = summary["figure_2"][str(budget)]
    figure, axes = _figure(7.2, 4.2, rows=2)
    for ax, key, name, low, high in [
        (axes[0], "dropped_mass", "dropped mass", 0, 1),
        (axes[1], "kappa", "gap ratio κ", 1, 2),
    ]:
        image = ax.imshow(
            np.array(data[key]).T, aspect="auto", vmin=low, vmax=high, cmap="cividis"
        )
        extend = "max" if key == "kappa" else "neither"
        figure.colorbar(image, ax=ax, label=name, extend=extend)
        ax.set_ylabel("query head")
        ax.grid(False)
    axes[1].set_xlabel("layer")
    return figure


def rules(summary):
    """Figure 3: how dropped mass predicts the excess of each rule, as curves and AUC."""
    data = summary["figure_3"]
    figure, axes = _figure(7.2, 3.4, columns=2)
    names = list(data)
    for number, name in enumerate(names):
        if data[name]["roc"]:
            axes[0].plot(*np.array(data[name]["roc"]).T, color=f"C{number % 5}", label=name)
        middle, low, high = (np.nan if x is None else x for x in data[name]["auc"])
        axes[1].plot([low, high], [number, number], color=f"C{number % 5}")
        axes[1].plot(middle, number, "o", color=f"C{number % 5}")
    axes[0].plot([0, 1], [0, 1], "--", color=style.MUTED, lw=1)
    axes[0].set(xlabel="false positive rate", ylabel="true positive rate")
    if any(entry["roc"] for entry in data.values()):
        axes[0].legend(fontsize=8)
    axes[1].axvline(0.5, color=style.MUTED, ls="--", lw=1)
    axes[1].set_yticks(range(len(names)), names)
    axes[1].set_xlabel("AUC of the dropped mass")
    return figure


def cross_entropy(summary):
    """Figure 4: change in held-out cross-entropy when only some cells balance."""
    data = summary["figure_4"]["sets"]
    figure, ax = _figure(6.4, 2.6)
    for number, (name, value) in enumerate(data.items()):
        middle, low, high = value["change"]
        ax.barh(number, middle, color=style.KEPT, height=0.6)
        ax.plot([low, high], [number, number], color="black", lw=1)
        ax.text(0.005, number, f"{value['share_of_gain'][0]:.0%}", va="center", fontsize=9)
    labels = [f"{name} ({value['cells']})" for name, value in data.items()]
    ax.set_yticks(range(len(data)), labels)
    ax.invert_yaxis()
    ax.set_xlabel("change against the heaviest keys, nats a token")
    return figure


FIGURES = {"1": ceiling, "2": cells, "3": rules, "4": cross_entropy}


def save_all(summary, folder):
    """Write figure_1.svg to figure_4.svg into ``folder``; return the paths written.

    A figure is left out when the summary lacks its data: no solved budget, no
    budget of 8, no cross-entropy.
    """
    import matplotlib

    written = []
    with matplotlib.rc_context(style.SETTINGS | {"axes.prop_cycle": style.cycle()}):
        for number, draw in FIGURES.items():
            needs = {"1": "table_8", "2": "figure_2"}.get(number, f"figure_{number}")
            data = summary.get(needs)
            if not data or (number == "2" and AUDITED not in data):
                continue
            path = Path(folder) / f"figure_{number}.svg"
            draw(summary).savefig(path, metadata={"Date": None})
            written.append(path)
    return written


def _figure(width, height, rows=1, columns=1):
    """A figure without pyplot, so that no window system and no global state is asked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns)
