"""What a group of query heads holds when every head chooses its own keys.

    python benchmarks/unions.py            # three minutes of one core

Replays on real attention of the bundled model: for each document, layer and group of
R = 3 query heads, every head takes its own top k keys, by three scores: the attention
that a key received from all rows ("accumulated", H2O's), from the last row, and from
the last 32 rows ("window"). Measured are the union overhead (UOR), the disagreement and
how often the certificates fire; every bound is checked on every group, and on random
groups of 2 to 8 heads and on tiny random models with groups of 1, 2, 6 and 8. The page
part counts what a paged cache holds for such sets, and for whole pages chosen by
entropy pooling, with a block table a head and one a layer (PUR).

Results are written to benchmarks/results/unions.json.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import hashlib
import json
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from kvteach import corpora, models
from kvteach.budgets.pages import WholePages
from kvteach.budgets.topk import top_k
from kvteach.caches import account, store
from kvteach.rows import statistics, unions
from kvteach.scores import observe
from kvteach.scores.pooled import Pooled, pooled, received

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "unions.json"
LENGTH = 2048
DOCUMENTS = {"english": (120, 150, 180, 210, 240), "french": (0, 60, 100),
             "code": (10, 60, 110, 160)}
BUDGETS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
PAGES = (1, 4, 8, 16, 32, 64)
SCORES = ("accumulated", "last row", "window")
ROUNDING = 1e-9


# --- real attention ---------------------------------------------------------------


def documents(tokenizer):
    """(name, tokens) of those documents, or of the next one that is long enough."""
    for corpus, places in DOCUMENTS.items():
        listed = corpora.documents(corpus)
        for place in places:
            found = next(d for d in listed[place:] if d.holds(tokenizer, LENGTH))
            yield f"{corpus}/{found.name}", found.tokens(tokenizer, LENGTH)


def scores(layer):
    """Each query head's own score of every key, {name: [H, S]}."""
    last = layer.weights(*layer.rows(32))
    return {"accumulated": received(layer), "last row": last[:, -1],
            "window": last.mean(1)}


def read(loaded):
    """Replay every document; returns statistics by cell and the page part's counts."""
    replayed, paged, sources, stores = {}, {}, {}, []
    depth = loaded.model.config.num_hidden_layers
    for name, tokens in documents(loaded.tokenizer):
        sources[name] = hashlib.sha256(tokens.numpy().tobytes()).hexdigest()[:16]
        for layer in observe.layers(loaded.model, tokens):
            made = scores(layer)
            for score, value_hs in made.items():
                for share in BUDGETS:
                    kept_hs = top_k(value_hs, int(share * LENGTH))
                    kept_krs = kept_hs.view(len(layer.keys_ksd), -1, LENGTH)
                    replayed.setdefault((score, share), []).append(of_groups(kept_krs))
            pages_of_layer(made["accumulated"], layer, depth, paged)
            stores.append(stored(layer, depth, made["accumulated"]))
        print(name, flush=True)
    return replayed, paged, sources, stores


def of_groups(kept_krs):
    """What is measured of groups [..., R, S]: {name: [...]}."""
    heads = kept_krs.shape[-2]
    found = {"overhead": unions.union_overhead(kept_krs)}
    if heads == 1:
        return found
    pairs = unions.pairs(kept_krs)
    mean, (lower, upper) = pairs.mean(-1), unions.sandwich(pairs, heads)
    elementary = unions.bonferroni(mean, heads)
    one, other = torch.triu_indices(heads, heads, 1)
    two = torch.stack([kept_krs[..., one, :], kept_krs[..., other, :]], -2)
    off = unions.union_overhead(two) - unions.two_head_overhead(1 - pairs)
    by_sandwich, by_bonferroni = unions.certifies_two(heads)
    return found | {
        "disagreement": 1 - mean, "lower": lower, "upper": upper,
        "elementary": elementary,
        "certified by sandwich": (mean <= by_sandwich).double(),
        "certified by Bonferroni": (mean <= by_bonferroni).double(),
        "identity off by": off.abs().amax(-1),
    }


def checked(found):
    """Groups, pairs and violations of what was proved; how close the bounds are."""
    overhead = found["overhead"]
    wrong = ((found["lower"] > overhead + ROUNDING)
             | (found["upper"] < overhead - ROUNDING)
             | (found["elementary"] > overhead + ROUNDING))
    promised = found["certified by sandwich"] + found["certified by Bonferroni"] > 0
    false = promised & (overhead < 2)
    return {
        "groups": overhead.numel(), "violations": int(wrong.sum()),
        "false certificates": int(false.sum()),
        "identity off by": found["identity off by"].max().item(),
        "mean gap to lower": (overhead - found["lower"]).mean().item(),
        "mean gap to upper": (found["upper"] - overhead).mean().item(),
    }


def summary(cells, documents):
    """One row of the table: [documents, layers, groups] put together."""
    found = {name: torch.stack([cell[name] for cell in cells]) for name in cells[0]}
    overhead, distance = found["overhead"], found["disagreement"]
    labels = np.repeat(np.arange(documents), overhead.numel() // documents)
    rng = np.random.default_rng(15)
    middle, low, high = statistics.bootstrap_documents(
        overhead.flatten().numpy(), labels, rng, statistic=np.mean)
    by_layer = overhead.view(documents, -1, overhead.shape[-1]).mean((0, 2))
    return {
        "mean": middle, "low": low, "high": high, "median": overhead.median().item(),
        "least": overhead.min().item(), "most": overhead.max().item(),
        "above 1": (overhead > 1).double().mean().item(),
        "2 or more": (overhead >= 2).double().mean().item(),
        "disagreement": distance.mean().item(),
        "most disagreement": distance.max().item(),
        "certified by sandwich": int(found["certified by sandwich"].sum()),
        "certified by Bonferroni": int(found["certified by Bonferroni"].sum()),
        "by layer": [round(x, 4) for x in by_layer.tolist()], **checked(found),
    }


# --- pages ------------------------------------------------------------------------


def chosen(mass_hs, layer, depth, share, page):
    """Kept keys of each KV head by three rules, {rule: [K, S]}; the budget in keys."""
    heads, entries = len(layer.keys_ksd), int(share * LENGTH)
    group_krs = mass_hs.view(heads, -1, LENGTH)
    whole, = WholePages(page)([pooled(group_krs)], entries, [layer.index], depth)
    own_krs = top_k(mass_hs, entries).view(group_krs.shape)
    return {"every head its own keys": own_krs.any(1),
            "the mean head's keys": top_k(group_krs.mean(1), entries),
            "whole pages": whole}, entries


def pages_of_layer(mass_hs, layer, depth, paged):
    """Add what this layer holds over its budget: own tables, one table, their ratio."""
    for share in BUDGETS:
        for page in PAGES:
            rules, entries = chosen(mass_hs, layer, depth, share, page)
            for rule, kept_ks in rules.items():
                held_kn = unions.pages_of(kept_ks, page)
                tables = held_kn.sum(-1).double().mean().item()
                shared = held_kn.any(0).sum().item()
                paged.setdefault((rule, share, page), []).append(
                    (tables * page / entries, shared * page / entries,
                     shared / tables if tables else np.nan))  # a layer without pages


def stored(layer, depth, mass_hs):
    """Whole pages of 16 at a tenth in both stores: ratio of their bytes, and PUR."""
    kept_ks = chosen(mass_hs, layer, depth, 0.1, 16)[0]["whole pages"]
    held = []
    for kind in ("paged-layer", "paged"):
        built = store.build(
            kind, layer.keys_ksd[None], layer.values_ksd[None], kept_ks[None])
        held.append(account.storage_bytes([built.keys_npgd, built.values_npgd]))
    return held[0] / held[1], unions.page_union_ratio(kept_ks, 16).item()


# --- other groups -----------------------------------------------------------------


def random_groups(number=10_000, length=96):
    """Bounds on random groups whose overlap runs from none to complete, R = 2 .. 8."""
    generator = torch.Generator().manual_seed(15)
    result = {}
    for heads in range(2, 9):
        parts = []
        for size in (2, 8, 24, 64):
            weight = torch.rand(number // 4, 1, 1, generator=generator)
            shared = torch.randn(number // 4, 1, length, generator=generator)
            own = torch.randn(number // 4, heads, length, generator=generator)
            parts.append(of_groups(top_k(weight * shared + (1 - weight) * own, size)))
        found = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        twofold = (found["overhead"] >= 2).sum().item()
        result[heads] = checked(found) | {
            "2 or more": twofold,
            "certified by sandwich": int(found["certified by sandwich"].sum()),
            "certified by Bonferroni": int(found["certified by Bonferroni"].sum()),
        }
    return result


def tiny_models():
    """The same on random Llamas with other group sizes, 256 random tokens."""
    from transformers import AutoModelForCausalLM, LlamaConfig

    result = {}
    for heads, kv_heads in ((4, 4), (4, 2), (12, 2), (8, 1)):
        torch.manual_seed(heads)
        config = LlamaConfig(
            vocab_size=97, hidden_size=16 * heads, intermediate_size=64,
            num_hidden_layers=4, num_attention_heads=heads, num_key_value_heads=kv_heads)
        model = AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for weight in model.parameters():
                if weight.ndim == 2:
                    weight.mul_(4)  # attention that is not flat
        tokens = torch.randint(97, (256,), generator=torch.Generator().manual_seed(1))
        found = [of_groups(top_k(received(layer), k).view(kv_heads, -1, 256))
                 for layer in observe.layers(model, tokens) for k in (5, 26, 128)]
        joined = {name: torch.cat([f[name] for f in found]) for name in found[0]}
        overhead = joined["overhead"]
        result[heads // kv_heads] = {"mean": overhead.mean().item(),
                                     "most": overhead.max().item()} | (
            {"groups": overhead.numel()} if heads == kv_heads else checked(joined))
    return result


# --- the record -------------------------------------------------------------------


def provenance(loaded, sources):
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True,
                            text=True, cwd=HERE, check=False).stdout.strip()
    return {
        "model": loaded.model.name_or_path.rsplit("/", 1)[-1],
        "heads": loaded.model.config.num_attention_heads,
        "key-value heads": loaded.model.config.num_key_value_heads,
        "tokens": LENGTH, "documents": sources, "commit": commit,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{platform.machine()}, one thread",
        "python": platform.python_version(),
        "torch": torch.__version__, "transformers": version("transformers"),
        "settings": {"scores": SCORES, "budgets": BUDGETS, "pages": PAGES,
                     "pooling": repr(Pooled())},
    }


def main():
    torch.set_num_threads(1)
    began = time.process_time()
    loaded = models.load()
    replayed, paged, sources, stores = read(loaded)
    record = {
        "replay": [{"score": score, "budget": share, **summary(cells, len(sources))}
                   for (score, share), cells in replayed.items()],
        "pages": [{"rule": rule, "budget": share, "page": page,
                   "own tables": float(np.mean([r[0] for r in rows])),
                   "one table": float(np.mean([r[1] for r in rows])),
                   "PUR": float(np.nanmean([r[2] for r in rows])),
                   "most PUR": float(np.nanmax([r[2] for r in rows]))}
                  for (rule, share, page), rows in paged.items()],
        "stores": {"layers": len(stores),
                   "bytes": float(np.mean([s[0] for s in stores])),
                   "PUR": float(np.mean([s[1] for s in stores])),
                   "most apart": float(max(abs(a - b) for a, b in stores))},
        "random groups": random_groups(),
        "tiny models": tiny_models(),
        "provenance": provenance(loaded, sources),
    }
    record["provenance"]["cpu seconds"] = round(time.process_time() - began)
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    print(f"{RESULTS}: {record['provenance']['cpu seconds']} CPU seconds")


if __name__ == "__main__":
    main()
