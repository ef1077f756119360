"""Wrong answers to the exercises of chapter 10."""

RANKING_ROWS = {
    "the last rows of the text": {"[:, ranking - window : ranking]": "[:, -window:]"},
    "the first rows": {"[:, ranking - window : ranking]": "[:, :window]"},
    "all ranking rows": {"[:, ranking - window : ranking]": "[:, :ranking]"},
    "one row more": {"[:, ranking - window : ranking]": "[:, max(ranking - window - 1, 0) : ranking]"},
    "the row at ranking": {"[:, ranking - window : ranking]": (
        "[:, ranking - window + 1 : ranking + 1]"
    )},
    "columns for rows": {"[:, ranking - window : ranking].mean((0, 1))": (
        "[:, :, ranking - window : ranking].mean((0, 2))"
    )},
    "sums": {".mean((0, 1))": ".sum((0, 1))"},
    "heads summed": {".mean((0, 1))": ".mean(1).sum(0)"},
    "the largest vote": {".mean((0, 1))": ".amax((0, 1))"},
    "a head each": {".mean((0, 1))": ".mean(1)", "len(score_s) - forced": "len(score_s.T) - forced"},
    "forced before ranking": {"score_s[len(score_s) - forced :] = 2.0": (
        "score_s[max(ranking - forced, 0) : ranking] = 2.0"
    )},
    "forced from ranking on": {"score_s[len(score_s) - forced :]": "score_s[ranking:]"},
    "the window is forced": {"score_s[len(score_s) - forced :]": "score_s[len(score_s) - window :]"},
    "none forced is all forced": {"score_s[len(score_s) - forced :]": "score_s[-forced:]"},
    "no key forced": {"    score_s[len(score_s) - forced :] = 2.0\n": ""},
    "a score that is not above all": {"= 2.0": "= 0.5"},
    "any window": {"if not 1 <= window <= ranking:": "if False:"},
    "an empty window": {"if not 1 <= window <= ranking:": "if window > ranking:"},
    "windows shorter than ranking": {"if not 1 <= window <= ranking:": "if not 1 <= window < ranking:"},
    "windows of the text": {"if not 1 <= window <= ranking:": (
        "if not 1 <= window <= weights_hts.shape[1]:"
    )},
    "the voters are silent": {">= ranking\n": ">= ranking - window\n"},
    "after ranking": {">= ranking\n": "> ranking\n"},
    "the last voter is blind to itself": {">= ranking\n": ">= ranking - 1\n"},
    "the keys that are seen": {">= ranking\n": "< ranking\n"},
}  # fmt: skip

LOST_KEYS = {
    "no pooling": {"saved = min(kernel // 2, unsafe, entries - forced)": "saved = 0"},
    "the whole kernel": {"min(kernel // 2,": "min(kernel,"},
    "rounded up": {"min(kernel // 2,": "min((kernel + 1) // 2,"},
    "borrowers are safe": {"min(unsafe, dropped)": "min(unsafe - saved, dropped)"},
    "nothing forced": {"max(question - forced, 0)": "question"},
    "what is forced": {"max(question - forced, 0)": "min(question, forced)"},
    "unsafe below zero": {"max(question - forced, 0)": "question - forced"},
    "more borrowers than unsafe": {"min(kernel // 2, unsafe, ": "min(kernel // 2, "},
    "more borrowers than places": {", unsafe, entries - forced)": ", unsafe)"},
    "forced keys take no place": {", unsafe, entries - forced)": ", unsafe, entries)"},
    "least beyond what goes": {"min(unsafe - saved, dropped)": "unsafe - saved"},
    "most beyond what goes": {"min(unsafe, dropped)": "unsafe"},
    "document keys go first": {"min(unsafe - saved, dropped)": (
        "max(min(unsafe - saved, dropped - document), 0)"
    )},
    "what goes of the document": {"document + question - entries": "max(document - entries, 0)"},
    "the other way round": {"return min(unsafe - saved, dropped), min(unsafe, dropped)": (
        "return min(unsafe, dropped), min(unsafe - saved, dropped)"
    )},
    "floats": {"return min(unsafe - saved, dropped), min(unsafe, dropped)": (
        "return float(min(unsafe - saved, dropped)), float(min(unsafe, dropped))"
    )},
    "the kept ones": {"(~kept_ks[:, first:])": "kept_ks[:, first:]"},
    "no question is everything": {"kept_ks[:, first:]": "kept_ks[:, -question:]"},
    "the document": {"kept_ks[:, first:]": "kept_ks[:, :first]"},
    "the first keys": {"kept_ks[:, first:]": "kept_ks[:, :question]"},
    "all heads together": {"(~kept_ks[:, first:]).sum(1)": "(~kept_ks[:, first:]).sum()"},
    "lost by any head": {"(~kept_ks[:, first:]).sum(1)": (
        "(~kept_ks[:, first:]).any(0).sum().expand(len(kept_ks))"
    )},
}  # fmt: skip

MIXTURE = {
    "half and half": {"return total / window, asked / window": (
        "return (by_question_qs[len(by_question_qs) - asked :].mean(0) + (by_document_ns"
        "[len(by_document_ns) - other :].mean(0) if other else 0)) / (2 if other else 1), "
        "asked / window"
    )},
    "sums": {"return total / window,": "return total,"},
    "over all rows": {"return total / window,": (
        "return total / (len(by_question_qs) + len(by_document_ns)),"
    )},
    "the document's share": {"asked / window": "other / window"},
    "the question's size": {"asked / window": "len(by_question_qs) / window"},
    "a share of the question": {"asked / window": "asked / len(by_question_qs)"},
    "all of the question": {"by_question_qs[len(by_question_qs) - asked :]": "by_question_qs"},
    "the first of the question": {"by_question_qs[len(by_question_qs) - asked :]": "by_question_qs[:asked]"},
    "the first of the document": {"by_document_ns[len(by_document_ns) - other :]": "by_document_ns[:other]"},
    "none is all of the document": {"by_document_ns[len(by_document_ns) - other :]": "by_document_ns[-other:]"},
    "always all of the question": {"asked = min(window, len(by_question_qs))": (
        "asked = len(by_question_qs)"
    )},
    "no document": {"    total = total + by_document_ns[len(by_document_ns) - other :].sum(0)\n": ""},
    "a tie outranks": {"math.ceil(question * ahead / behind) - 1": (
        "math.floor(question * ahead / behind)"
    )},
    "rounded down, less one": {"math.ceil(question * ahead / behind) - 1": (
        "math.floor(question * ahead / behind) - 1"
    )},
    "rows of the document only": {"return question + math.ceil": "return math.ceil"},
    "the window's rows": {"return question + math.ceil(question * ahead / behind) - 1": (
        "return max(question, math.ceil(question * ahead / behind) - 1)"
    )},
    "one row more": {"math.ceil(question * ahead / behind) - 1": "math.ceil(question * ahead / behind)"},
    "the question's rows don't count": {"question * ahead / behind": "ahead / behind"},
    "behind by the wanted key": {"behind = rival[1] - wanted[1]": "behind = rival[1]"},
    "equal is enough": {"if ahead <= 0:": "if ahead < 0:"},
    "equal behind": {"if behind <= 0:": "if behind < 0:",
                     "question * ahead / behind": "question * ahead / max(behind, 1e-9)"},
    "the document first": {"    if ahead <= 0:\n        return 0\n    if behind <= 0:\n        return None\n": (
        "    if behind <= 0:\n        return None\n    if ahead <= 0:\n        return 0\n"
    )},
    "at least the question": {"        return 0\n": "        return question\n"},
    "no infinity": {"return None": "return 10**9"},
}  # fmt: skip

MEMORY = {
    "the question compressed twice": {"return kept + question if boundary else kept": "return kept"},
    "always on top": {"return kept + question if boundary else kept": "return kept + question"},
    "the wrong run": {"return kept + question if boundary else kept": (
        "return kept if boundary else kept + question"
    )},
    "shares of the document": {"read = document if boundary else document + question": "read = document"},
    "shares of everything": {"read = document if boundary else document + question": (
        "read = document + question"
    )},
    "no end": {"kept = min(budget, read)": "kept = budget"},
    "the end with the question": {"kept = min(budget, read)": "kept = min(budget, document + question)"},
    "rounded": {"int(budget * read + 1e-9)": "round(budget * read)"},
    "rounded up": {"int(budget * read + 1e-9)": "-int(-budget * read // 1)"},
    "29 is 28": {"int(budget * read + 1e-9)": "int(budget * read)"},
    "nothing": {"max(1, int(budget * read + 1e-9))": "int(budget * read + 1e-9)"},
    "one is everything": {"isinstance(budget, int)": "isinstance(budget, int) and budget != 1"},
    "everything is one": {"isinstance(budget, int)": "budget == int(budget)"},
    "any int": {"if budget < 1:": "if False:"},
    "any share": {"if not 0 < budget <= 1:": "if False:"},
    "shares below 1": {"if not 0 < budget <= 1:": "if not 0 < budget < 1:"},
    "no share": {"if not 0 < budget <= 1:": "if not 0 <= budget <= 1:"},
    "turned round": {"return later / sum(keys_held(document, q, budget, False) for q in questions)": (
        "return sum(keys_held(document, q, budget, False) for q in questions) / later"
    )},
    "a mean of ratios": {"return later / sum(keys_held(document, q, budget, False) for q in questions)": (
        "return sum(\n        keys_held(document, q, budget, True) / keys_held(document, q, budget, False)\n"
        "        for q in questions\n    ) / len(questions)"
    )},
    "the first question": {"for q in questions": "for q in questions[:1]"},
    "one cache for all": {"later = sum(keys_held(document, q, budget, True) for q in questions)": (
        "later = keys_held(document, sum(questions), budget, True)"
    )},
    "with the question": {"return held - question": "return held"},
    "the question added": {"return held - question": "return held + question"},
    "nothing left": {"if held <= question:": "if held < question:"},
    "below zero": {"if held <= question:": "if False:"},
    "the share as it is": {"held = keys_held(document, question, budget, False)": (
        "held = keys_held(document, question, budget, True)"
    )},
}  # fmt: skip

ATTRIBUTION = {
    "shares": {"= 100 * score_qc[whole].T": "= score_qc[whole].T"},
    "the other sign": {"document - visible, after - document, after - visible": (
        "visible - document, document - after, visible - after"
    )},
    "timing from visible": {"after - document, after - visible": "after - visible, after - visible"},
    "steps exchanged": {"document - visible, after - document,": "after - document, document - visible,"},
    "columns exchanged": {"visible, document, after = 100": "visible, after, document = 100"},
    "missing is a miss": {"whole = ~score_qc.isnan().any(1)": (
        "score_qc = score_qc.nan_to_num(0.0)\n    whole = torch.ones(len(score_qc), dtype=torch.bool)"
    )},
    "any score is enough": {"score_qc.isnan().any(1)": "score_qc.isnan().all(1)"},
    "visible and after": {"score_qc.isnan().any(1)": "score_qc[:, [0, 2]].isnan().any(1)"},
    "NaN in the argument": {"whole = ~score_qc.isnan().any(1)": (
        "whole = ~score_qc.isnan().any(1)\n    score_qc.nan_to_num_(0.0)"
    )},
    "any order": {"document_q[whole].unique(return_inverse=True)": (
        "document_q[whole].neg().unique(return_inverse=True)"
    )},
    "sums": {"/ count[:, None]": "/ 1"},
    "documents that have none": {"document_q[whole].unique(return_inverse=True)": (
        "document_q.unique(return_inverse=True)"
    ), "place.bincount()": "place.bincount().clamp_min(1)",
       "    count =": "    place = place[whole]\n    count ="},
    "a document that is a question": {"document_q[whole].unique(return_inverse=True)": (
        "torch.arange(int(whole.sum())).unique(return_inverse=True)"
    )},
    "nothing is zero": {'raise ValueError("score_qc: no question has a score in all three conditions")': (
        "return torch.zeros(1, 3, dtype=torch.float64)"
    )},
    "questions weigh the same": {"return by_document(score_qc, document_q).mean(0)": (
        "keep = ~score_qc.isnan().any(1)\n    line = torch.arange(int(keep.sum()))\n"
        "    return by_document(score_qc[keep], line).mean(0)"
    )},
    "a sum of documents": {"return by_document(score_qc, document_q).mean(0)": (
        "return by_document(score_qc, document_q).sum(0)"
    )},
    "a median": {"return by_document(score_qc, document_q).mean(0)": (
        "return by_document(score_qc, document_q).median(0).values"
    )},
    "90%": {"[0.025, 0.975]": "[0.05, 0.95]"},
    "the range": {"[0.025, 0.975]": "[0.0, 1.0]"},
    "one side": {"[0.025, 0.975]": "[0.05, 1.0]"},
    "high and low": {"[0.025, 0.975]": "[0.975, 0.025]"},
    "lines for columns": {"dim=0).T": "dim=0)"},
    "no resamples": {"[draws_bd].mean(1)": "[draws_bd].reshape(-1, 3)"},
    "over resamples": {"[draws_bd].mean(1)": "[draws_bd].mean(0)"},
    "each document once": {"[draws_bd].mean(1)": (
        "\n    mean_bs = torch.stack([mean_bs[d.unique()].mean(0) for d in draws_bd])"
    )},
    "the estimate in the middle": {"torch.quantile(mean_bs, ends, dim=0).T": (
        "torch.stack([mean_bs.mean(0) - 1.96 * mean_bs.std(0), mean_bs.mean(0) + 1.96 * mean_bs.std(0)], 1)"
    )},
    "nearest values": {"torch.quantile(mean_bs, ends, dim=0)": (
        "torch.quantile(mean_bs, ends, dim=0, interpolation='nearest')"
    )},
}  # fmt: skip

MUTANTS = {
    "ranking_rows": RANKING_ROWS,
    "lost_keys": LOST_KEYS,
    "mixture": MIXTURE,
    "memory": MEMORY,
    "attribution": ATTRIBUTION,
}
