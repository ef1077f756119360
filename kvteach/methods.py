"""The named methods: a choice of score, budget and store, with its source.

A new method is a rule in `kvteach.scores` or `kvteach.budgets`, if it needs one that
is not there, and one entry in `METHODS`.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from kvteach.budgets.uniform import Uniform
from kvteach.scores.knorm import KNorm
from kvteach.scores.snapkv import SnapKV
from kvteach.scores.streaming import StreamingLLM


@dataclass(frozen=True)
class Method:
    """Which keys (score), how many per head (budget), held how (store)."""

    name: str
    score: Any  # None keeps everything
    budget: Any
    store: str
    source: str  # key in the book's bibliography
    deviations: str = ""


_METHODS = (
    Method("full", None, Uniform(), "padded", ""),
    Method("streaming", StreamingLLM(), Uniform(), "padded", "xiao2024efficient"),
    Method("snapkv", SnapKV(), Uniform(), "padded", "li2024snapkv"),
    Method("knorm", KNorm(), Uniform(), "padded", "devoto2024simple"),
)

METHODS = {method.name: method for method in _METHODS}
"""Every named method."""


def get(method, **changes):
    """The `Method` of that name, or the method itself, with parameters changed.

    changes: fields of its score or budget rule by name, such as ``window=32``; or
    ``store``. Raises ValueError for an unknown name, a field that neither rule has,
    and one that both have.
    """
    if isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"method: {method!r}; there are {', '.join(METHODS)}")
        method = METHODS[method]
    if not isinstance(method, Method):
        raise ValueError(f"method: {method!r}; need a name or a kvteach.methods.Method")
    for name, value in changes.items():
        method = _changed(method, name, value)
    return method


def _changed(method, name, value):
    if name == "store":
        return dataclasses.replace(method, store=value)
    parts = {part: getattr(method, part) for part in ("score", "budget")}
    having = [part for part, rule in parts.items() if name in _fields(rule)]
    if len(having) != 1:
        known = sorted(_fields(method.score) | _fields(method.budget) | {"store"})
        raise ValueError(f"{name}: {method.name} has no such parameter; it has {known}")
    rule = dataclasses.replace(parts[having[0]], **{name: value})
    return dataclasses.replace(method, **{having[0]: rule})


def _fields(rule):
    return set() if rule is None else {field.name for field in dataclasses.fields(rule)}
