"""Figure 4: held-out cross-entropy when only some cells are balanced."""

import functools

import numpy as np
import pyarrow as pa
import torch

from kvteach import models
from kvteach.evaluate.atlas.answer import answered
from kvteach.evaluate.atlas.intervals import mean, over_documents
from kvteach.evaluate.atlas.plan import AUDITED, choose_texts, tokens_of
from kvteach.shards import Shards
from kvteach.evaluate.work import fill, load_once, one_thread
from kvteach.rows.statistics import HEADROOM

SCHEMA = pa.schema({"set": pa.string(), "cells": pa.int32(), "loss": pa.float64()})


def measure_losses(folder, plan, tokenizer, cells, count, jobs, say):
    """Losses of ``count`` documents that the map has not seen, one table each.

    cells: Figure 2 of the summary at s = 8.
    """
    texts = choose_texts(tokenizer, count, plan.tokens, plan.seed, skip=len(plan.texts))
    sets = cell_sets(
        np.array(cells["kappa"]), np.array(cells["dropped_mass"]), plan.seed
    )
    shards = Shards(folder, f"cross-entropy-{count}", count)
    work = functools.partial(losses_of, plan, texts, sets)
    fill(shards, work, (), jobs, say, "held-out document")
    shards.merge()
    return [shards.read(i) for i in range(count)]


def cell_sets(kappa, mass, seed):
    """Sets of cells [L, H] bool to balance: the labelled ones, others of their number.

    Labelled: median kappa at least 1.11. Against them as many at random, as many
    of the least kappa, as many of the most dropped mass; and all.
    """
    labelled = kappa >= 1 / HEADROOM
    count = int(labelled.sum())
    shuffled = np.random.default_rng(seed).permutation(kappa.size).reshape(kappa.shape)
    return {
        "top-mass": np.zeros_like(labelled),
        "labelled": labelled,
        "random": _first(shuffled, count),
        "least kappa": _first(kappa, count),
        "most dropped mass": _first(-mass, count),
        "all": np.ones_like(labelled),
    }


def _first(score, count):
    """Mask of the ``count`` smallest scores."""
    mask = np.zeros(score.size, bool)
    mask[score.ravel().argsort(kind="stable")[:count]] = True
    return mask.reshape(score.shape)


def losses_of(plan, texts, sets, index):
    """Cross-entropy in nats a token of one document, for each set of cells."""
    loaded = load_once(plan.model)
    tokens = tokens_of(texts[index], loaded.tokenizer, plan.tokens)
    with one_thread():
        records = [("every key", 0, loss(loaded.model, tokens))]
        for name, cells in sets.items():
            with answered(loaded.model, AUDITED, cells):
                records.append((name, int(cells.sum()), loss(loaded.model, tokens)))
    return pa.Table.from_arrays(
        list(map(pa.array, zip(*records, strict=True))), schema=SCHEMA
    )


def loss(model, tokens):
    """Mean cross-entropy of each next token, in nats."""
    logits = models.read(model, tokens)[:-1].float()
    return torch.nn.functional.cross_entropy(logits.cpu(), tokens[1:].long()).item()


def figure_4(tables):
    """Changes against top-mass with intervals over documents, for summary.json."""
    names = tables[0]["set"].to_pylist()
    losses = np.array([table["loss"].to_numpy() for table in tables])
    by = dict(zip(names, losses.T, strict=True))
    documents = np.arange(len(tables))
    change = {name: by[name] - by["top-mass"] for name in names}
    sets = {}
    for name, cells in zip(names, tables[0]["cells"].to_pylist(), strict=True):
        if name not in ("every key", "top-mass"):
            pair = np.c_[change[name], change["all"]]
            sets[name] = {
                "cells": cells,
                "change": mean(change[name], documents),
                "share_of_gain": over_documents(pair, documents, _share),
            }
    return {
        "documents": len(tables),
        "every_key": float(by["every key"].mean()),
        "top_mass": float(by["top-mass"].mean()),
        "sets": sets,
    }


def _share(pair):
    return pair[:, 0].mean() / pair[:, 1].mean()
