"""summary.md, from summary.json: the paper's values and ours side by side."""

from kvteach.evaluate.atlas import published
from kvteach.evaluate.atlas.plan import AUDITED

TABLE_8_NAMES = {
    "kappa": "median kappa",
    "kappa_p99": "99th percentile of kappa",
    "share": "share with E <= 0.9 e(top-mass)",
    "closure": "median closable share",
    "top_mass_is_best": "share where top-mass is the best set",
    "frank_wolfe": "Frank-Wolfe support, e over top-mass",
    "leverage": "ridge leverage, e over top-mass",
    "vote": "group vote, e over top-mass",
    "pi": "median pi",
    "pi_p99": "99th percentile of pi",
    "rho_phi": "rho(Phi, E)",
    "balanced_kappa": "median kappa of balancing",
    "balanced_is_best": "share where balancing is the best set",
}


def render(summary):
    """The summary as Markdown."""
    parts = [_head(summary), _table_1(summary), _table_2(summary)]
    if "table_6" in summary:
        parts.append(_table_6(summary))
    if "table_7" in summary:
        parts.append(_table_7(summary["table_7"]))
    parts += [
        _table_8(summary),
        _tails(summary),
        _predictors(summary),
        _figure_2(summary),
    ]
    if "figure_3" in summary:
        parts.append(_figure_3(summary["figure_3"]))
    if "figure_4" in summary:
        parts.append(_figure_4(summary["figure_4"]))
    return "\n\n".join(parts) + "\n"


def number(x, digits=3):
    """1.234; 1.234 [1.1, 1.3] with an interval; an en dash for none."""
    if x is None:
        return "–"
    if isinstance(x, str):
        return x
    if isinstance(x, (list, tuple)):
        estimate, low, high = x
        text = number(estimate, digits)
        return (
            text
            if low is None
            else f"{text} [{number(low, digits)}, {number(high, digits)}]"
        )
    return f"{x:.{digits}f}" if abs(x) < 100 else f"{x:.0f}"


def grid(header, rows):
    """A Markdown table; cells are strings."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _head(summary):
    plan, took = summary["plan"], summary["took"]
    texts = ", ".join(
        f"{count} {corpus}" for corpus, count in summary["documents"].items()
    )
    return (
        f"# Map of {plan['model']}\n\n"
        f"{plan['identity']} ({plan['dtype']}), {plan['layers']} layers of "
        f"{plan['heads']} heads; {texts} documents of {plan['tokens']} tokens, "
        f"{plan['positions']} positions per head in the second half: "
        f"{summary['rows_per_budget']} rows at each of {len(summary['budgets'])} "
        f"budgets. Seed {plan['seed']}. Brackets are 95% intervals, documents "
        f"resampled. Published values: {published.SOURCE}, other models, documents "
        f"of 4,096 tokens.\n\nMeasured in {took['cpu_seconds']:.0f} s of processor "
        f"time "
        f"({took['machine']})."
    )


def _columns(summary, key, sizes, of):
    return [number(summary[key][str(size)][of]) for size in sizes]


def _table_1(summary):
    sizes = summary["budgets"]
    rows = [
        [f"{name}, published", *(number(values.get(size)) for size in sizes)]
        for name, values in published.TABLE_1.items()
    ]
    rows.append(["**here**", *_columns(summary, "table_1", sizes, "balanced_closure")])
    mass = [number(published.DROPPED_MASS.get(size), 2) for size in sizes]
    rows.append(["median dropped mass, published (pooled)", *mass])
    rows.append(["**here**", *_columns(summary, "table_1", sizes, "dropped_mass")])
    if AUDITED in sizes:
        gaps = [number(published.GAP_SHARE.get(size)) for size in sizes]
        rows.append(["gap over gap at 8, published (Qwen2.5/OLMo-2)", *gaps])
        rows.append(
            ["**here**", *_columns(summary, "table_1", sizes, "gap_over_gap_at_8")]
        )
    rows.append(
        [
            "balancing 10% better, **here**",
            *_columns(summary, "table_1", sizes, "balanced_share"),
        ]
    )
    header = ["median closure of balancing", *(f"s={size}" for size in sizes)]
    return "## Table 1: the gap that balancing closes\n\n" + grid(header, rows)


def _table_2(summary):
    rows = []
    for corpus, found in summary["table_2"].items():
        span, share = published.TABLE_2[corpus]
        for what, theirs in (("auc", span), ("share", share), ("kappa", None)):
            name = {"auc": "AUC", "share": "share", "kappa": "median kappa"}[what]
            rows.append(
                [
                    f"{corpus}: {name}",
                    number(theirs),
                    *(number(x[what]) for x in found.values()),
                ]
            )
    header = [
        "content",
        "published",
        *(f"s={size}" for size in summary["solved_budgets"]),
    ]
    return "## Table 2: kinds of text\n\n" + grid(header, rows)


def _table_6(summary):
    here = summary["table_6"]
    rows = [
        [name, norm, f"{auc:.2f}", edge, f"{depth:.2f}", f"{phi:.2f}"]
        for name, norm, auc, edge, depth, phi in published.TABLE_6
    ]
    for edge, found in here["edge_over_interior"].items():
        name = f"**{summary['plan']['model']}**, edge {edge}"
        rows.append(
            [
                name,
                summary["qk_norm"],
                number(here["auc"]),
                number(found, 2),
                number(here["rho_depth"], 2),
                number(here["rho_phi"]),
            ]
        )
    header = ["family", "QK-norm", "AUC", "edge/interior", "rho depth", "rho(Phi, E)"]
    return (
        "## Table 6: one line a family, s = 8\n\nHow many layers count as edge is not "
        "published; each side has that many here, and its interval resamples heads.\n\n"
        + grid(header, rows)
    )


def _table_7(found):
    rows = []
    for size, theirs in published.TABLE_7.items():
        rows.append([f"s={size}, published", *(number(x) for x in theirs), "–"])
        for key, name in (
            ("free", "here"),
            ("floor", "here, kept mass >= 0.9 of top-mass"),
        ):
            here = found["budgets"].get(str(size))
            if here:
                here = here[key]
                rows.append(
                    [
                        f"s={size}, **{name}**",
                        f"{here['improved']}/{here['solved']}",
                        *(
                            number(here[x])
                            for x in ("wilson", "median", "cap", "cap_unsolved")
                        ),
                        str(here["unsolved"]),
                    ]
                )
    header = [
        "",
        "improved/solved",
        "Wilson 95%",
        "median closable",
        "cap",
        "cap, unsolved improved",
        "unsolved",
    ]
    return (
        f"## Table 7: over all keys\n\nRows drawn evenly from ten classes of dropped "
        f"mass, {found['seconds']:.0f} s a solve, proved within {found['gap']:.0%}. "
        "Improved: more than "
        "1% below the pool's optimum. The cap is the largest median that such a rate "
        "allows.\n\n" + grid(header, rows)
    )


def _table_8(summary):
    sizes, rows = summary["solved_budgets"], []
    for key, name in TABLE_8_NAMES.items():
        theirs = published.TABLE_8.get(key, {})
        if theirs:
            rows.append(
                [f"{name}, published", *(number(theirs.get(size)) for size in sizes)]
            )
        rows.append([f"{name}, **here**", *_columns(summary, "table_8", sizes, key)])
    header = ["", *(f"s={size}" for size in sizes)]
    return "## Table 8: profile by budget\n\nPublished: Qwen2.5-1.5B.\n\n" + grid(
        header, rows
    )


def _tails(summary):
    sizes = summary["solved_budgets"]
    names = list(next(iter(summary["tails"].values())))
    rows = [
        [name.replace("_", " "), *_columns(summary, "tails", sizes, name)]
        for name in names
    ]
    return (
        "## Beyond the median\n\nThe closable share 1 - E / e(top-mass), exact within "
        "the pool. Few rows carry most of it, so its mean is several times its "
        "median.\n\n" + grid(["", *(f"s={size}" for size in sizes)], rows)
    )


def _predictors(summary):
    sizes = summary["solved_budgets"]
    names = list(next(iter(summary["predictors"].values())))
    rows = [
        [name.replace("_", " "), *_columns(summary, "predictors", sizes, name)]
        for name in names
    ]
    return (
        "## What predicts headroom\n\nAUC of the label E <= 0.9 e(top-mass). "
        f"Published for dropped mass at s = 8: {published.AUC_RANGE}.\n\n"
        + grid(["", *(f"s={size}" for size in sizes)], rows)
    )


def _figure_2(summary):
    rows = [
        [f"s={size}", number(cells["auc"]), number(cells["labelled_share"])]
        for size, cells in summary["figure_2"].items()
    ]
    return (
        f"## Figure 2: cells\n\nA cell is one head of one layer; published AUC over "
        f"cells {published.CELL_AUC}. The maps themselves are in summary.json.\n\n"
        + grid(["", "AUC over cells", "share with median kappa >= 1.11"], rows)
    )


def _figure_3(found):
    rows = [
        [
            rule,
            number(x["share"]),
            number(x["auc"]),
            number(x.get("auc_of_own_mass")),
            number(x.get("error_over_best"), 2),
        ]
        for rule, x in found.items()
    ]
    header = [
        "rule",
        "share in excess",
        "AUC of least dropped mass",
        "AUC of its own",
        "median error over best",
    ]
    return (
        "## Figure 3: deployed rules at s = 8, chosen anew for every row\n\nIn excess: "
        "error above 1/0.9 times the best in the pool. The curves are in "
        "summary.json.\n\n" + grid(header, rows)
    )


def _figure_4(found):
    rows = [
        [name, str(x["cells"]), number(x["change"], 4), number(x["share_of_gain"], 2)]
        for name, x in found["sets"].items()
    ]
    return (
        f"## Figure 4: cross-entropy when cells are balanced, s = 8\n\n"
        f"{found['documents']} held-out documents. Every row is answered from 8 keys. "
        f"Top-mass everywhere: {number(found['top_mass'])} nats a token; every key "
        f"kept: {number(found['every_key'])}.\n\n"
        + grid(
            ["balanced cells", "cells", "change against top-mass", "share of the gain"],
            rows,
        )
    )
