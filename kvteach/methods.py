"""The named methods: score, budget, store and compensation, with their source.

A new method is a rule in `kvteach.scores`, `kvteach.budgets` or `kvteach.compensate`, if
it needs one that is not there, and one entry in `METHODS`.
"""

import ast
import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvteach.budgets import tables
from kvteach.budgets.adakv import AdaKV
from kvteach.budgets.chunks import WholeChunks
from kvteach.budgets.contour import ContourKV
from kvteach.budgets.dispersion import Dispersion
from kvteach.budgets.headkv import HeadKV
from kvteach.budgets.pages import WholePages
from kvteach.budgets.pyramid import PyramidKV
from kvteach.budgets.risk_gate import RiskGate
from kvteach.budgets.uniform import Uniform
from kvteach.budgets.widest import Widest
from kvteach.compensate.latent_memory import LatentMemory
from kvteach.compensate.tail_slot import TailSlot
from kvteach.compensate.tangent_slot import TangentSlot
from kvteach.scores import fastkvzip, fitted, head_importance, indexer, kvzap
from kvteach.scores.chunkkv import ChunkKV
from kvteach.scores.compactor import Compactor
from kvteach.scores.coverage import Coverage
from kvteach.scores.expected import ExpectedAttention
from kvteach.scores.fastkvzip import FastKVzip
from kvteach.scores.h2o import H2O
from kvteach.scores.indexer import Indexer
from kvteach.scores.keydiff import KeyDiff
from kvteach.scores.knorm import KNorm
from kvteach.scores.kvzap import KVzap
from kvteach.scores.kvzip import KVzip
from kvteach.scores.pooled import Pooled
from kvteach.scores.snapkv import SnapKV
from kvteach.scores.stabilised import Stabilised
from kvteach.scores.streaming import StreamingLLM
from kvteach.scores.tova import TOVA


@dataclass(frozen=True)
class Method:
    """Which keys (score), how many per head (budget), held how (store), what of the rest."""

    name: str
    score: Any  # None keeps everything
    budget: Any
    store: str  # "padded" where heads of a layer keep equally many, else "ragged"
    source: str = ""  # key in the book's bibliography
    deviations: str = ""
    compensate: Any = None  # what stands for the evicted keys; None: nothing
    every: int | None = None  # evict again each so many decoded tokens; None: once


def _headkv():
    """HeadKV with the importance that ships for the bundled model."""
    return Method(
        "headkv", PAPER_WINDOW, HeadKV(head_importance.load()), "ragged", "fu2024headkv",
        "importance from needle prompts without a reasoning chain; exact totals",
    )


def _core():
    """CORE with the student and the memory that ship for the bundled model."""
    return Method(
        "core", Indexer(), SINKS_STAY, "padded", "liu2026core",
        "a student and a memory of one head's keys, trained by this library",
        LatentMemory(_file(fitted.read, fitted.shipped("core"))), every=128,
    )


def _compilerkv():
    """CompilerKV with the tables that ship for the bundled model."""
    return Method(
        "compilerkv", Stabilised(), RiskGate(_file(tables.load, tables.SHIPPED)), "padded",
        "yang2026compilerkv",
        "tables of 5 x 2 bins, compiled by this library; the last token stays",
    )


SINKS_STAY = Uniform(sinks=4)
"""For scores that are one distribution over all keys, finite on the sinks too."""

PAPER_WINDOW = SnapKV(window=32, kernel=7, pooling="max")
"""SnapKV's score with the numbers of the papers' own code; the default are kvpress's."""

POOLED = ContourKV(floor=0)
"""All scores of the model in one ranking: what the KVzip family divides its budget by."""

_CHOICES = (
    Method("full", None, Uniform(), "padded"),
    Method("streaming", StreamingLLM(), Uniform(), "padded", "xiao2024streamingllm",
           "keys keep their positions, as all methods here"),
    Method("h2o", H2O(), Uniform(), "padded", "zhang2023h2o",
           "evicts once, after the prompt, not at every step"),
    Method("tova", TOVA(), Uniform(), "padded", "oren2024tova",
           "evicts once, after the prompt, not at every step"),
    Method("snapkv", SnapKV(), Uniform(), "padded", "li2024snapkv",
           "window and pooling of kvpress"),
    Method("pyramidkv", SnapKV(), PyramidKV(), "padded", "cai2024pyramidkv",
           "exact totals"),
    Method("adakv", SnapKV(), AdaKV(), "ragged", "feng2024adakv",
           "safeguard of kvpress, .2; the authors' code has .5"),
    _headkv,
    Method("chunkkv", ChunkKV(), WholeChunks(), "padded", "liu2025chunkkv",
           "never above the budget"),
    Method("knorm", KNorm(), Uniform(), "padded", "devoto2024knorm"),
    Method("keydiff", KeyDiff(), Uniform(), "padded", "park2025keydiff",
           "evicts once, after the prompt"),
    Method("expected", ExpectedAttention(), Uniform(), "padded", "devoto2025expected"),
    Method("compactor", Compactor(), Uniform(), "padded", "chari2025compactor",
           "scaled logits; a fixed blend"),
    Method("kvzip", KVzip(), POOLED, "ragged", "kim2025kvzip"),
    Method("fastkvzip", FastKVzip(), POOLED, "ragged", "kim2026fastkvzip",
           "gates fitted to the bundled model by this library"),
    Method("kvzap", KVzap(), POOLED, "ragged", "jegou2026kvzap",
           "a budget instead of a fixed threshold; networks fitted by this library"),
    Method("contourkv", PAPER_WINDOW, ContourKV(), "ragged", "shi2026trust",
           "the floor of 32 recent keys is inside the budget"),
    Method("contourkv-kvzip", KVzip(), ContourKV(), "ragged", "shi2026trust",
           "the floor of 32 recent keys is inside the budget"),
    Method("page-entrokv", Pooled(), WholePages(), "paged", "inbasekaran2026pageentrokv",
           "a mean row of the window; a partial page counts as what it holds"),
    Method("certkv", PAPER_WINDOW, Dispersion(), "ragged", "yang2026beyond",
           "a window of SnapKV's that stays; the division is exactly optimal",
           TailSlot()),
    Method("tangent", PAPER_WINDOW, Uniform(), "padded", "",
           "this library's slot for evicted keys", TangentSlot()),
    Method("tangent-kvzip", KVzip(), POOLED, "ragged", "",
           "this library's slot for evicted keys", TangentSlot()),
    Method("coverage", Coverage(), SINKS_STAY, "padded", "liu2026core",
           "CORE's teacher itself, on the last 128 rows, without its memory"),
    _core,
    _compilerkv,
)

FITTED = ("headkv", "fastkvzip", "kvzap", "core", "compilerkv")
"""Methods that read what was fitted to the bundled model, unless they are given a file of
`kvteach compile`: headkv:importance=FILE, fastkvzip:gates=FILE, kvzap:network=FILE,
core:network=FILE,weights=FILE, compilerkv:tables=FILE."""

_FILES = {
    (HeadKV, "importance"): head_importance.load,
    (FastKVzip, "gates"): fastkvzip.load,
    (KVzap, "network"): kvzap.load,
    (Indexer, "network"): indexer.load,
    (LatentMemory, "weights"): fitted.read,
    (RiskGate, "tables"): tables.load,
}
"""Parameters of rules that may be given as the path of a file."""

METHODS = {
    choice.name if isinstance(choice, Method) else choice.__name__.lstrip("_"): choice
    for choice in _CHOICES
}
"""Every named method; one that reads a file is a function that makes it."""


def get(method, **changes):
    """The `Method` of that name, or the method itself, with parameters changed.

    method: a name, such as "snapkv", or a name with parameters, such as
    "snapkv:window=16,pooling=max". changes: fields of its score, budget or compensation
    rule by name; or ``store`` or ``every``; or ``compensate=None``, which leaves that
    rule out. A field that several have (ChunkKV's ``length``) is changed in each. Raises
    ValueError for an unknown name and for a field that no rule has.
    """
    if isinstance(method, str):
        method = _named(method)
    if not isinstance(method, Method):
        raise ValueError(f"method: {method!r}; need a name or a kvteach.methods.Method")
    for name, value in changes.items():
        method = _changed(method, name, value)
    return method


def _named(text):
    """The method that a name, with parameters or without, stands for."""
    name, _, parameters = text.partition(":")
    if name not in METHODS:
        raise ValueError(f"method: {text!r}; there are {', '.join(METHODS)}")
    method = METHODS[name]
    if callable(method):
        method = method()
    for parameter in filter(None, parameters.split(",")):
        field, given, value = parameter.partition("=")
        if not given:
            raise ValueError(f"method: {text!r}; {parameter!r} is not of the form name=value")
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            pass  # a word, such as max
        method = _changed(method, field, value)
    return dataclasses.replace(method, name=text)


def _changed(method, name, value):
    if name in ("store", "every") or (name == "compensate" and value is None):
        return dataclasses.replace(method, **{name: value})
    parts = {part: getattr(method, part) for part in ("score", "budget", "compensate")}
    having = [part for part, rule in parts.items() if name in _fields(rule)]
    if not having:
        known = sorted(set().union(*map(_fields, parts.values())) | {"store", "every"})
        raise ValueError(f"{name}: {method.name} has no such parameter; it has {known}")
    rules = {part: _with(parts[part], name, value) for part in having}
    return dataclasses.replace(method, **rules)


def _with(rule, name, value):
    """The rule with one field changed, read from a file where it is the path of one."""
    read = _FILES.get((type(rule), name))
    if isinstance(value, str) and read is not None:
        value = _file(read, value)
    return dataclasses.replace(rule, **{name: value})


def _file(read, path):
    """What a file holds, the same object while it does not change: methods compare."""
    path = Path(path)
    return _read_once(read, path, path.stat().st_mtime_ns if path.is_file() else None)


@functools.lru_cache(maxsize=16)
def _read_once(read, path, changed):
    return read(path)


def _fields(rule):
    return set() if rule is None else {field.name for field in dataclasses.fields(rule)}


def unenforced(method):
    """The method as it is when nobody enforces its budget, or None if that is the same.

    Heads of a layer then all hold as many keys as the widest, see
    `kvteach.budgets.widest`.
    """
    method = get(method)
    if method.store != "ragged":
        return None
    return dataclasses.replace(method, budget=Widest(method.budget), store="padded")
