"""summary.md, from summary.json: scores at bytes held, records, conditions."""

from kvteach.evaluate.atlas.report import grid, number
from kvteach.evaluate.compare.summary import LOOSE


def render(summary):
    """The summary as Markdown."""
    parts = [_head(summary)]
    for title, cells in _grouped(summary["cells"]):
        parts.append(f"## {title}\n\n" + _scores(cells, summary["plan"]))
    for reference, record in summary["records"].items():
        parts.append(f"## Record of {reference}\n\n" + _record(record))
    if summary["equal_bytes"]:
        parts.append("## What an unenforced budget flatters\n\n" + _flattery(summary))
    if summary["conditions"]:
        parts.append("## The question in the room\n\n" + _conditions(summary["conditions"]))
    return "\n\n".join(parts) + "\n"


def _head(summary):
    plan, took = summary["plan"], summary["took"]
    counted = ", ".join(f"{n} documents of {task}" for task, n in summary["documents"].items())
    return (
        f"# Methods compared on {plan['model']}\n\n"
        f"{plan['identity']} ({plan['dtype']}); {counted}, {plan['tokens']} tokens each, from "
        f"{summary['clusters']} texts. Seed {plan['seed']}. Brackets are 95% intervals, texts "
        "resampled. Scores are shares of exact answers, for copying tasks of right tokens; "
        "nll is nats a token of the wanted answer. *Unenforced*: every head of a layer holds "
        f"as many keys as the widest. Measured in {took['cpu_seconds']:.0f} s of processor "
        f"time ({took['machine']})." + _added(took)
    )


def _added(took):
    """What is to be known of methods that were added later."""
    if "full_cache_differs" not in took:
        return ""
    return (" Methods were added later; then the full cache told "
            f"{took['full_cache_differs']} answers otherwise than before.")


def _grouped(cells):
    titles = dict.fromkeys((c["task"], c["condition"]) for c in cells)
    for task, condition in titles:
        yield f"{task}, question {_WHEN[condition]}", [
            c for c in cells if (c["task"], c["condition"]) == (task, condition)
        ]


_WHEN = {
    "after": "after the eviction",
    "visible": "visible to the ranking",
    "document": "read before the eviction, ranking by document rows",
}


def _scores(cells, plan):
    budgets = sorted(plan["budgets"], reverse=True)
    full = next(c for c in cells if c["method"] == "full")
    header = ["method", *(f"{share}, {b:g}" for b in budgets
                          for share in ("held", "score", "nll"))]
    rows = []
    names = [*(c["method"] for c in cells), *plan["methods"]]
    for method in sorted(set(names) - {"full"}, key=_place(plan["methods"])):
        own = {c["budget"]: c for c in cells if c["method"] == method}
        row = [method]
        for budget in budgets:
            c = own.get(budget)
            row += ["–"] * 3 if c is None else [
                number(c["held_over_full"]), number(c["score"], 2), number(c["nll"][0], 2)]
        rows.append(row)
    text = (f"Full cache: {number(full['score'], 2)}, nll {number(full['nll'], 2)}, "
            f"{full['answers']} answers. Held: bytes over those of the full cache. A dash: "
            "the budget does not hold what the method must keep.")
    return text + "\n\n" + grid(header, rows)


def _place(order):
    """Sorts methods as they were asked for, each before its unenforced self."""
    return lambda name: (order.index(name.removesuffix(LOOSE)), name)


def _record(record):
    rules = ("sign", "interval", "holm")
    text = (
        "Wins/ties/losses over tasks, conditions and budgets, by the sign of the mean "
        "difference, by its interval, and by the p-value after Holm's correction for "
        "the whole table. Documents: wins/ties/losses of single texts, summed."
    )
    rows = []
    for method in record["tally"]["sign"]:
        own = [c for c in record["cells"] if c["method"] == method]
        mean = sum(c["difference"] for c in own) / len(own)
        rows.append([
            method,
            *("/".join(map(str, record["tally"][rule][method])) for rule in rules),
            "/".join(str(sum(c[what] for c in own)) for what in ("wins", "ties", "losses")),
            f"{mean:+.3f}",
        ])
    return text + "\n\n" + grid(["against", *rules, "documents", "mean difference"], rows)


def _flattery(summary):
    text = (
        "Unenforced minus enforced, at the same nominal budget and at the bytes that the "
        "unenforced one held (enforced scores interpolated in the logarithm of bytes; "
        "outside: answers whose bytes lie beyond the largest enforced budget)."
    )
    rows = [
        [e["method"], e["task"], e["condition"], f"{e['budget']:g}", number(e["gain_at_nominal"], 3),
         number(e["gain_at_equal_bytes"], 3), str(e["outside"])]
        for e in summary["equal_bytes"]
    ]
    header = ["method", "task", "question", "budget", "at nominal budget", "at equal bytes", "outside"]
    return text + "\n\n" + grid(header, rows)


def _conditions(entries):
    text = (
        "Scores with the question visible while keys are ranked, with ranking by document "
        "rows only, and with the eviction before the question; differences are paired."
    )
    header = ["method", "task", "budget", "visible", "document rows", "difference",
              "after", "difference", "bytes, after over visible"]
    rows = []
    for e in entries:
        if e["method"].endswith(LOOSE):
            continue
        row = [e["method"], e["task"], f"{e['budget']:g}", number(e["visible"]["score"], 2)]
        for name in ("document", "after"):
            own = e.get(name)
            row += ["–", "–"] if own is None else [
                number(own["score"], 2), number(own["minus_visible"], 2)]
        row.append(number(e["after"]["held_over_visible"], 2) if "after" in e else "–")
        rows.append(row)
    return text + "\n\n" + grid(header, rows)
