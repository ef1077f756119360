"""Wrong answers to the exercises of chapter 17."""

PAGE_WORTH = {
    "the other projection": {'if project == "max":': 'if project == "mean":'},
    "always the best": {"p.mean(1)": "p.amax(1)"},
    "always the mean": {"p.amax(1)": "p.mean(1)"},
    "the least": {"p.amax(1)": "p.amin(1)"},
    "a sum": {"p.mean(1)": "p.sum(1)"},
    "a full divisor": {"p.mean(1)": "p.sum(1) / page"},
    "the middle": {"p.mean(1)": "p.median(1).values"},
    "padded with zeros": {"pages = score_ks.split(page, dim=1)": (
        "pages = torch.nn.functional.pad(score_ks, (0, -score_ks.shape[1] % page)).split(page, dim=1)"
    )},
    "no short page": {"pages = score_ks.split(page, dim=1)": (
        "pages = score_ks.split(page, dim=1)\n    if pages[-1].shape[1] < page and len(pages) > 1:\n"
        "        pages = pages[:-1]"
    )},
    "absolute values": {"p.amax(1)": "p.abs().amax(1)"},
    "heads together": {"p.amax(1)": "p.amax().expand(len(p))"},
    "any projection": {'if project not in ("max", "mean"):': "if False:"},
    "the worst pages": {"descending=True": "descending=False"},
    "later first": {"order_kn = worth_kn.argsort(dim=1, descending=True, stable=True)": (
        "order_kn = worth_kn.shape[1] - 1 - worth_kn.flip(1).argsort(dim=1, descending=True, stable=True)"
    )},
    "one more": {"order_kn[:, :count]": "order_kn[:, : count + 1]"},
    "keys for pages": {"order_kn[:, :count]": "order_kn[:, : count // page]"},
    "pages for keys": {"kept_kn.repeat_interleave(page, 1)[:, :length]": (
        "kept_kn.repeat(1, page)[:, :length]"
    )},
    "a full last page": {"[:, :length]": "[:, :]"},
    "one set for all": {"order_kn = worth_kn.argsort": "order_kn = worth_kn.amax(0, keepdim=True).expand_as(worth_kn).argsort"},
    "all that reach the last": {"    kept_kn.scatter_(1, order_kn[:, :count], True)\n": (
        "    if count:\n        kept_kn = worth_kn >= worth_kn.gather(1, order_kn[:, count - 1 : count])\n"
    )},
}  # fmt: skip

PAGE_BUDGET = {
    "each for itself": {"each, more = divmod(tokens // (heads * page), layers)": (
        "each, more = tokens // layers // (heads * page), 0"
    )},
    "heads forgotten": {"divmod(tokens // (heads * page), layers)": "divmod(tokens // page, layers)"},
    "rounded up": {"divmod(tokens // (heads * page), layers)": "divmod(-(-tokens // (heads * page)), layers)"},
    "the last layers": {"(layer < more)": "(layer >= layers - more)"},
    "all to the first": {"(layer < more)": "more * (layer == 0)"},
    "nothing more": {"(layer < more)": "0"},
    "one too many": {"(layer < more)": "(layer <= more)"},
    "rounded to the nearest": {"[each + (layer < more) for layer in range(layers)]": (
        "[round(tokens / (heads * page * layers)) for layer in range(layers)]"
    )},
    "bools": {"each + (layer < more)": "(each + 1 if layer < more else each) * 1.0"},
    "full pages": {"missing = -length % page": "missing = 0"},
    "what is there": {"missing = -length % page": "missing = length % page"},
    "pages rounded down": {"everything = -(-length // page)": "everything = length // page"},
    "empty heads have it": {"missing * sum(k > 0 for k in pages)": "missing * len(pages)"},
    "one layer has it": {"missing * sum(k > 0 for k in pages)": "missing * any(pages)"},
    "nobody must": {"missing * sum(k == everything for k in pages)": "0"},
    "always stays": {"must = may if last_stays else": "must = may if True else"},
    "never stays": {"must = may if last_stays else": "must = may if False else"},
    "one head": {"return heads * (full - may), heads * (full - must)": "return full - may, full - must"},
    "short once a layer": {"return heads * (full - may), heads * (full - must)": (
        "return heads * full - may, heads * full - must"
    )},
    "exchanged": {"return heads * (full - may), heads * (full - must)": (
        "return heads * (full - must), heads * (full - may)"
    )},
    "no more than the text": {"full = sum(pages) * page": "full = sum(min(k * page, length) for k in pages)"},
    "waste of one head": {"together = tokens % (heads * page)": "together = tokens % page"},
    "waste of all layers": {"together = tokens % (heads * page)": "together = tokens % (heads * page * layers)"},
    "alone is together": {"alone = tokens - layers * (tokens // layers // (heads * page)) * heads * page": (
        "alone = together"
    )},
    "alone, a layer": {"alone = tokens - layers * (tokens // layers // (heads * page)) * heads * page": (
        "alone = tokens // layers % (heads * page)"
    )},
    "alone, without the rest": {"alone = tokens - layers * (tokens // layers // (heads * page)) * heads * page": (
        "alone = layers * (tokens // layers % (heads * page))"
    )},
    "in the other order": {"return together, alone": "return alone, together"},
}  # fmt: skip

FREED_PAGES = {
    "all must want it": {"part_lkp.any(2)": "part_lkp.all(2)"},
    "keys": {"held += int(wanted_lk.sum()) * part_lkp.shape[2]": "held += int(part_lkp.sum())"},
    "pages": {"held += int(wanted_lk.sum()) * part_lkp.shape[2]": "held += int(wanted_lk.sum())"},
    "full pages": {"* part_lkp.shape[2]": "* page"},
    "free ones": {"int(wanted_lk.sum())": "int((~wanted_lk).sum())"},
    "always own tables": {'"layer": (1,), "model": (0, 1)': '"layer": (), "model": ()'},
    "layers over layers": {'"layer": (1,)': '"layer": (0,)'},
    "model over layers only": {'"model": (0, 1)': '"model": (0,)'},
    "model is layer": {'"model": (0, 1)': '"model": (1,)'},
    "counted once": {"keepdim=True).expand_as(wanted_lk)": "keepdim=True)"},
    "all heads must want it": {"wanted_lk.any(dim, keepdim=True)": "wanted_lk.all(dim, keepdim=True)"},
    "any table": {"    if table not in shared:": "    if table not in shared:\n        table = 'head'\n    if False:"},
    "only full pages": {"held = full * page * (1 - (1 - share) ** page) + short * (1 - (1 - share) ** short)": (
        "held = length * (1 - (1 - share) ** page)"
    )},
    "the short page forgotten": {" + short * (1 - (1 - share) ** short)": ""},
    "a full power": {"short * (1 - (1 - share) ** short)": "short * (1 - (1 - share) ** page)"},
    "kept all": {"(1 - (1 - share) ** page)": "share ** page"},
    "free": {"return held / length": "return 1 - held / length"},
    "tokens": {"return held / length": "return held"},
    "of whole pages": {"return held / length": "return held / ((full + (short > 0)) * page)"},
    "the next page": {"    return page\n": "    return page + 1\n"},
    "one at least": {"    page = 0\n": "    page = 1\n"},
    "strictly more": {"** (page + 1) >= wanted": "** (page + 1) > wanted"},
    "held often": {"(1 - share) ** (page + 1) >= wanted": "1 - (1 - share) ** (page + 1) < wanted"},
}  # fmt: skip

BLOCK_TABLES = {
    "zeros beyond the last": {"torch.full(inside.shape, -1)": "torch.full(inside.shape, 0)"},
    "numbers of the text": {"table[inside] = torch.arange(len(pool))": (
        "table[inside] = wanted_tn.nonzero()[:, 1]"
    )},
    "each table from 0": {"table[inside] = torch.arange(len(pool))": (
        "table[inside] = torch.arange(inside.shape[1]).expand(inside.shape)[inside]"
    )},
    "a page for every table": {"int(counts_t.max())": "pages"},
    "full lengths": {"return pool, table, (wanted_tn * size_n).sum(1)": (
        "return pool, table, counts_t * page"
    )},
    "pages as lengths": {"return pool, table, (wanted_tn * size_n).sum(1)": "return pool, table, counts_t"},
    "never longer than the text less one": {".clamp(max=page)": ".clamp(max=page - 1)"},
    "never shared": {"    if shared:\n": "    if False:\n"},
    "always shared": {"    if shared:\n": "    if True:\n"},
    "all heads must want it": {"wanted_kn.any(0, keepdim=True)": "wanted_kn.all(0, keepdim=True)"},
    "heads before tokens": {".permute(0, 2, 3, 1, 4)": ".permute(0, 2, 1, 3, 4).reshape(1, pages, page, heads, dim)"},
    "page after page": {"    pool = paged_tnpgd[wanted_tn]\n": (
        "    pool = paged_tnpgd.transpose(0, 1)[wanted_tn.T]\n"
    )},
    "all of the pool": {"    pool = paged_tnpgd[wanted_tn]\n": "    pool = paged_tnpgd.flatten(0, 1)\n",
                        "torch.arange(len(pool))": "torch.arange(int(wanted_tn.sum()))"},
    "the last key repeated": {"padded_ksd[:, :tokens] = keys_ksd": (
        "padded_ksd[:] = keys_ksd[:, -1:]\n    padded_ksd[:, :tokens] = keys_ksd"
    )},
    "somebody wants something": {"int(counts_t.max())": "max(int(counts_t.max()), 1)"},
    "padding is read": {"return found[: int(length[row])]": "return found"},
    "in the pool's order": {"pool[table[row, :count], :, place]": (
        "pool[table[row, :count].sort().values, :, place]"
    )},
    "the first head": {"row, place = head // group, head % group": "row, place = head // group, 0"},
    "the first table": {"row, place = head // group, head % group": "row, place = 0, head % group"},
    "one token less": {"return found[: int(length[row])]": "return found[: int(length[row]) - 1]"},
    "the pool itself": {"found = pool[table[row, :count], :, place].flatten(0, 1)": (
        "found = pool[:count, :, place].flatten(0, 1)"
    )},
    "the end of the table": {"count = int((table[row] >= 0).sum())": "count = table.shape[1]",
                             "return found[: int(length[row])]": "return found"},
    "all that is given up": {"    returned = sorted({page for row in before for page in row} - listed)\n": (
        "    returned = sorted({page for gone in freed_t for page in gone})\n"
    )},
    "twice": {"sorted({page for row in before for page in row} - listed)": (
        "sorted([page for gone in freed_t for page in gone if page not in listed])"
    )},
    "as they come": {"returned = sorted({page for row in before for page in row} - listed)": (
        "returned = list(dict.fromkeys(p for row in before for p in row if p not in listed))"
    )},
    "all that stays": {" - listed)\n": " & listed)\n"},
    "as wide as before": {"longest = max(map(len, after))": "longest = table.shape[1]"},
    "zeros at the end": {"row + [-1] * (longest": "row + [0] * (longest"},
    "sorted tables": {"after = [[p for p in row if p not in gone] for": (
        "after = [sorted(p for p in row if p not in gone) for"
    )},
    "gone everywhere": {"after = [[p for p in row if p not in gone] for row, gone in zip(before, freed_t)]": (
        "after = [[p for p in row if p not in sum(freed_t, [])] for row in before]"
    )},
}  # fmt: skip

MUTANTS = {
    "page_worth": PAGE_WORTH,
    "page_budget": PAGE_BUDGET,
    "freed_pages": FREED_PAGES,
    "block_tables": BLOCK_TABLES,
}
