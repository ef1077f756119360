"""The letters that prose, docstrings, code and tests share.

Teaching code suffixes a tensor with its dimension letters in lower case:
``keys_ksd`` is [K, S, D], ``queries_bhtd`` is [B, H, T, D].
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Symbol:
    """One letter: how code spells it, how TeX prints it, what it means."""

    name: str
    tex: str
    meaning: str


DIMENSIONS = (
    Symbol("B", "B", "batch: sequences served together"),
    Symbol("L", "L", "layers"),
    Symbol("H", "H", "query heads in a layer"),
    Symbol("K", "K", "key-value heads in a layer"),
    Symbol("R", "R", "group size: query heads that share one key-value head, H / K"),
    Symbol("T", "T", "query length: tokens processed in this call"),
    Symbol("S", "S", "cached length: tokens whose keys and values exist"),
    Symbol("D", "D", "head dimension"),
    Symbol("N", "N", "pages"),
    Symbol("P", "P", "page size in tokens"),
    Symbol("M", "M", "kept slots"),
    Symbol("itemsize", "b", "bytes of one number: 2 for bfloat16"),
)

ROW = (
    Symbol("p", "p", "attention weights of one row, [S], positive, summing to 1"),
    Symbol("v", "v", "values, [S, D]; the row of key j is v_j"),
    Symbol("k", "k", "keys after rotary embedding, [S, D]"),
    Symbol("q", "q", "the query of the row, [D]"),
    Symbol("mu", r"\mu", "dense output: the weighted mean of all values, [D]"),
    Symbol("A", "A", "kept set: the keys that stay"),
    Symbol("E", "E", "evicted set: the complement of A"),
    Symbol("s", "s", "size of the kept set"),
    Symbol("dropped_mass", r"\bar p(A)", "total weight of the evicted keys"),
    Symbol("forced_output", "m_A", "mean of the kept values under renormalised weights"),
    Symbol("evicted_output", "m_E", "mean of the evicted values under their own weights"),
    Symbol("forced_error", "e_s(A)", "distance from the dense to the forced output"),
    Symbol("missing_statistic", "u", "weighted sum of the evicted values, [D]"),
    Symbol("sigma", r"\sigma", "spread of a row: root mean square distance of its values from mu"),
    Symbol("deviations", r"\Gamma_j", "p_j (v_j - mu): they sum to zero over all keys"),
    Symbol("phi", r"\Phi", "length of the summed deviations of the top-mass set"),
    Symbol("best_subset", "E_S(s)", "least forced error of any set of s keys"),
    Symbol("kappa", r"\kappa", "gap ratio: error of the top-mass set over the least error"),
    Symbol("closure", "c", "share of the top-mass error that another set removes"),
)


def markdown_table(symbols):
    """The symbols as a Markdown table, for the notation page of the book."""
    lines = ["| In code | In prose | Meaning |", "|---|---|---|"]
    lines += [f"| `{s.name}` | ${s.tex}$ | {s.meaning} |" for s in symbols]
    return "\n".join(lines)
