"""What a call of `compress` means, worked out and checked before the model runs."""

import math
from dataclasses import dataclass
from numbers import Integral, Real

import torch

from kvteach import methods
from kvteach.caches import account, store
from kvteach.engine import again, dense, evict

CONDITIONS = ("visible", "document", "after")
OTHER_ROTATIONS = {"cohere", "cohere2", "ernie4_5", "exaone4", "glm", "glm4", "gptj",
                   "helium", "smollm3"}
"""Models that interleave rotary pairs, or leave some layers unrotated."""


@dataclass(frozen=True)
class Bytes:
    """A budget in bytes, for all compressed layers and sequences together.

    It holds for the store that a method comes with on prompts of equal length; a mask, or
    padding where heads or prompts differ, holds more, as the ledger says.
    """

    count: int


@dataclass(frozen=True)
class Plan:
    """One compression: what is read, what ranks, how many keys stay."""

    method: object
    store: str
    tokens_bt: torch.Tensor  # read by the prefill, padding included
    mask_bt: torch.Tensor  # bool, False on padding
    pending_bt: torch.Tensor  # read after the eviction
    entries: list  # keys per KV head, mean over heads and layers; one per sequence
    rankings: list  # rows that may rank, one per sequence; None for all
    windows: list  # sliding window of each layer, None for full attention
    limit: int | None = None  # what the budget allows, also above the prompt; None: all

    @property
    def lengths(self):
        """Tokens of each sequence, without padding."""
        return self.mask_bt.sum(1).tolist()

    @property
    def evicts(self):
        """Whether any key goes."""
        return any(n < length for n, length in zip(self.entries, self.lengths))


def make(model, tokens, method, budget, question, condition, attention_mask, store_kind):
    """The `Plan`, or ValueError or NotImplementedError naming what is wrong."""
    _require_model(model)
    method = methods.get(method)
    windows = dense.windows(model.config)
    if all(window is not None for window in windows):
        raise NotImplementedError(
            "every layer of this model slides over a window: no layer can be compressed"
        )
    family = getattr(model.config, "model_type", "")
    if getattr(method.score, "unrotates", False) and family in OTHER_ROTATIONS:
        raise NotImplementedError(
            f"{method.name} reads keys before rotary embedding, which {family} models turn in "
            "another way than Llama's"
        )
    if getattr(method.score, "second_pass", False) and any(windows):
        raise NotImplementedError(
            f"{method.name} reads the prompt twice over a full cache, but layers of this "
            "model slide over a window"
        )
    if model.training:
        raise ValueError("model: it is in training mode; call model.eval() first")
    kind = method.store if store_kind is None else store_kind
    if kind not in store.KINDS:
        raise ValueError(f"store: {kind!r}; there are {', '.join(store.KINDS)}")
    tokens_bt = ids("tokens", tokens, model)
    mask_bt = _mask(attention_mask, tokens_bt)
    asked_bt = _question(question, tokens_bt, model)
    if condition not in CONDITIONS:
        raise ValueError(f"condition: {condition!r}; there are {', '.join(CONDITIONS)}")
    if condition != "visible" and asked_bt is None:
        raise ValueError(f"condition: {condition!r} says what a question may do; pass question")
    rankings = [None] * len(tokens_bt)
    if asked_bt is not None and condition != "after":
        if condition == "document":
            rankings = mask_bt.sum(1).tolist()
        tokens_bt = torch.cat([tokens_bt, asked_bt], 1)
        mask_bt = torch.cat([mask_bt, torch.ones_like(asked_bt, dtype=torch.bool)], 1)
        asked_bt = None
    asked = 0 if asked_bt is None else asked_bt.shape[1]
    require_context(model.config, tokens_bt.shape[1] + asked)
    pending_bt = tokens_bt[:, -1:]
    if asked_bt is not None:
        pending_bt = torch.cat([pending_bt, asked_bt], 1)
    lengths = mask_bt.sum(1).tolist()
    compressed = windows.count(None)
    allowed = _allowed(budget, method, kind, lengths, model, compressed)
    entries = [n if most is None else min(most, n) for most, n in zip(allowed, lengths)]
    plan = Plan(
        method, kind, tokens_bt, mask_bt, pending_bt, entries, rankings, windows, allowed[0]
    )
    require_rows(plan)
    again.require(method, kind, len(lengths))
    return plan


# --- the model and what it reads ------------------------------------------------


def _require_model(model):
    if hasattr(model, "tokenizer") and hasattr(model, "model"):
        raise ValueError("model: got what models.load returns; pass its .model")
    if not all(hasattr(model, name) for name in ("config", "base_model", "generate")):
        raise ValueError(f"model: {type(model).__name__} is no transformers causal model")
    if getattr(model.config, "is_encoder_decoder", False):
        raise NotImplementedError("encoder-decoder models are not supported")
    if any(p.device.type == "meta" for p in model.parameters()):
        raise ValueError("model: its weights are on the meta device; load them first")


def ids(name, tokens, model):
    """Token ids [B, T] on the model's device, or ValueError."""
    if hasattr(tokens, "input_ids"):
        raise ValueError(f"{name}: got what a tokenizer returns; pass its .input_ids")
    try:
        tokens = torch.as_tensor(tokens)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{name}: {type(tokens).__name__}; need ids [T] or [B, T]") from None
    if tokens.ndim not in (1, 2) or tokens.numel() == 0:
        raise ValueError(f"{name}: shape {list(tokens.shape)}; need [T] or [B, T], T >= 1")
    if tokens.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name}: dtype {tokens.dtype}; need integer ids")
    if tokens.device.type != "cpu" and tokens.device != model.device:
        raise ValueError(f"{name}: on {tokens.device}, but the model is on {model.device}")
    vocabulary = account.text_config(model.config).vocab_size
    if not 0 <= tokens.min() <= tokens.max() < vocabulary:
        raise ValueError(
            f"{name}: ids {int(tokens.min())} .. {int(tokens.max())} leave the vocabulary, "
            f"0 .. {vocabulary - 1}"
        )
    return tokens.reshape(-1, tokens.shape[-1]).long().to(model.device)


def _mask(attention_mask, tokens_bt):
    """True on real tokens, [B, T]; padding must come first, and not fill a row."""
    if attention_mask is None:
        return torch.ones_like(tokens_bt, dtype=torch.bool)
    mask = torch.as_tensor(attention_mask).to(tokens_bt.device)
    mask_bt = mask.reshape(-1, mask.shape[-1]).bool()
    if mask_bt.shape != tokens_bt.shape:
        raise ValueError(
            f"attention_mask: shape {list(mask.shape)}; need {list(tokens_bt.shape)}"
        )
    if not mask_bt[:, -1].all() or (mask_bt[:, :-1] & ~mask_bt[:, 1:]).any():
        raise ValueError("attention_mask: padding must be on the left, before every token")
    return mask_bt


def _question(question, tokens_bt, model):
    """The question for every sequence, [B, Tq]; None where there is none."""
    if question is None:
        return None
    asked = ids("question", question, model)
    if len(asked) not in (1, len(tokens_bt)):
        raise ValueError(f"question: {len(asked)} rows; need 1 or {len(tokens_bt)}")
    return asked.expand(len(tokens_bt), -1)


def require_context(config, total):
    """Raise ValueError where ``total`` tokens are more than the model reads."""
    longest = getattr(account.text_config(config), "max_position_embeddings", None)
    if longest and total > longest:
        raise ValueError(f"tokens: {total}; the model reads at most {longest}")


# --- the budget -------------------------------------------------------------------


def _allowed(budget, method, kind, lengths, model, layers):
    """Keys per KV head that the budget allows each sequence, >= 1; None for all."""
    if method.score is None:
        if budget not in (None, 1, 1.0):
            raise ValueError(f"budget: {budget!r}, but {method.name} keeps everything; pass None")
        return [None] * len(lengths)
    if isinstance(budget, Bytes):
        return [_from_bytes(budget, method, kind, lengths, model, layers)] * len(lengths)
    if isinstance(budget, bool) or not isinstance(budget, Real) or not math.isfinite(budget):
        raise ValueError(
            f"budget: {budget!r}; need a share of the keys in (0, 1] (float), keys per head "
            ">= 1 (int), or Bytes(n)"
        )
    if isinstance(budget, Integral):
        if budget < 1:
            raise ValueError(f"budget: {budget} keys per head; need at least 1")
        return [int(budget)] * len(lengths)
    if not 0 < budget <= 1:
        raise ValueError(f"budget: {budget}; a share of the keys lies in (0, 1]")
    if budget == 1:
        return [None] * len(lengths)
    # The small number lets 0.29 * 100 be the 29 that was meant.
    return [max(1, int(budget * n + 1e-9)) for n in lengths]


def _from_bytes(budget, method, kind, lengths, model, layers):
    """Entries per head that fit: 2 D itemsize for key and value, 4 for a position.

    Pages are held whole, and the last one may be nearly empty.
    """
    _, kv_heads, dim = account.shape(model.config)
    entry = 2 * dim * model.dtype.itemsize + 4
    per_entry = len(lengths) * layers * kv_heads * entry
    spare = getattr(method.budget, "page", 16) if kind.startswith("paged") else 0
    if isinstance(budget.count, bool) or not isinstance(budget.count, Integral):
        raise ValueError(f"budget: {budget}; need a whole number of bytes")
    least = "one key" if not spare else f"one key, and a page of {spare},"
    if budget.count < per_entry * (1 + spare):
        raise ValueError(
            f"budget: {budget}; {least} per head takes {per_entry * (1 + spare)} bytes, "
            f"{max(lengths)} keys take {per_entry * (max(lengths) + spare)}"
        )
    return int(budget.count) // per_entry - spare


def require_rows(plan):
    """Raise ValueError where a method reads more rows than may rank."""
    window = None if plan.method.score is None else evict.rows_read(plan.method)
    if window is None:
        return
    for entries, length, ranking in zip(plan.entries, plan.lengths, plan.rankings):
        rows = length if ranking is None else ranking
        if entries < length and rows < window:
            raise ValueError(
                f"tokens: {rows} rows can rank keys, but {plan.method.name} ranks by the "
                f"last {window}; pass a longer prompt or a method with a smaller window"
            )
