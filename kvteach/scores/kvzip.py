"""KVzip: keep what the model reads when it writes its context down again."""

import functools
from dataclasses import dataclass

import torch

from kvteach import attention, bundled
from kvteach.scores.layer import over_groups
from kvteach.scores.replayed import attend_and_score


@dataclass(frozen=True)
class Instruction:
    """Token ids that ask for the repetition: of the first chunk, and of a later one.

    ``answer`` follows either; it opens the assistant's turn in a chat format.
    """

    first: tuple = ()
    later: tuple = ()
    answer: tuple = ()

    @classmethod
    def of(cls, tokenizer):
        """The published wording, as KVzip and kvpress 0.5.5 have it, in tokens."""
        answer = "\n"
        if tokenizer.chat_template is not None:
            turn = [{"role": "user", "content": "context\n####"}]
            text = tokenizer.apply_chat_template(
                turn, add_generation_prompt=True, tokenize=False, enable_thinking=False
            )
            answer = text.split("\n####")[1]
        first = "\n\nRepeat the previous context exactly."
        later = "\n\nRepeat the part of the previous context exactly, starting with"
        texts = (first, later, answer)
        return cls(
            *(tuple(tokenizer.encode(t, add_special_tokens=False)) for t in texts)
        )


@dataclass(frozen=True)
class KVzip:
    """Largest attention that a key receives while the model repeats its context.

    The context is cut into chunks. For each, the model reads an instruction and then
    the chunk once more, T rows in all, over the full cache:

        score_j = max over rows t < T and the group's query heads of
                  softmax over [sinks, chunk, rows 0 .. t] of the logits, at j

    chunk: tokens repeated at a time. sinks: first keys of the sequence, which join
    every softmax and must stay (+inf). quote: last tokens of the chunk before that a
    later chunk's instruction quotes. prefix: leading tokens that are not repeated, the
    head of a chat format; beyond the sinks they score 0. plus: KVzip+, where a weight
    is multiplied by ||W_O v_j|| of its query head and divided by ||h_t||, h_t being
    what the attention module reads. instruction: None takes the published words, and
    the tokenizer by the model's name.

    With ``ranking`` only the first so many tokens are repeated and seen; the keys after
    them are ranked by nothing and must stay (+inf).

    Cost: a prefill whose rows see up to S + T keys each instead of T / 2 on average,
    without the last layer's second half: about 1.5 prefills at S = chunk = 2,048. The
    weights serve attention and score alike. Rows stand at positions S .. S + T - 1.

    Kim et al. 2025, arXiv 2505.23416. Deviation: the score of the sinks, 1 in the
    paper and the largest score plus 1 in kvpress, is +inf, which orders them alike.
    """

    chunk: int = 2048
    sinks: int = 4
    quote: int = 8
    prefix: int = 0
    plus: bool = False
    instruction: Instruction | None = None

    second_pass = True
    window = None
    hidden = False

    def __post_init__(self):
        if self.chunk < 1:
            raise ValueError(f"chunk: {self.chunk}; need at least 1 token")
        for name in ("sinks", "quote", "prefix"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: {getattr(self, name)}; need at least 0")

    def replay(self, model, tokens, cache, ranking=None):
        """Scores of every key, a list of [K, S] float32, one a layer.

        tokens: [S] ids of one sequence. cache: its keys and values, layer i's in
        ``cache.layers[i].keys`` and ``.values``, [1, K, S, D]; it is only read.

        Raises ValueError for a cache that does not hold S keys a layer, for a ranking
        outside 1 .. S and for a model whose tokenizer is not found, and
        NotImplementedError for a sliding-window layer that would not see the replay.
        """
        tokens = torch.as_tensor(tokens).reshape(-1)
        length = len(tokens) if ranking is None else ranking
        _require_whole(cache, len(tokens))
        if not 1 <= length <= len(tokens):
            raise ValueError(
                f"ranking: {ranking}; need 1 .. {len(tokens)}, the prompt's length"
            )
        words = self.instruction or _instruction(model.name_or_path)
        cached = [
            (layer.keys[0, :, :length], layer.values[0, :, :length])
            for layer in cache.layers
        ]
        scores = [
            keys.new_zeros(keys.shape[0], len(tokens), dtype=torch.float32)
            for keys, _ in cached
        ]
        for first in range(self.prefix, length, self.chunk):
            last = min(first + self.chunk, length)
            opening = torch.tensor(words.first, dtype=torch.long)
            if first > self.prefix:
                quoted = tokens[max(first - self.quote, 0) : first].cpu()
                opening = torch.cat(
                    [torch.tensor(words.later, dtype=torch.long), quoted]
                )
            answer = torch.tensor(words.answer, dtype=torch.long)
            ids = torch.cat([opening, answer, tokens[first:last].cpu()])
            for score_ks, peaks_hc in zip(
                scores, self._peaks(model, ids, cached, (first, last))
            ):
                score_ks[:, first:last] = over_groups(peaks_hc, len(score_ks), "max")
        for score_ks in scores:
            score_ks[:, : self.sinks] = torch.inf
            score_ks[:, length:] = torch.inf
        return scores

    def _peaks(self, model, ids, cached, span):
        """Largest weight of each query head on each key of the span, [H, C] a layer."""
        peaks, read = [], {}

        def attend(module, query, key, value, mask, scaling, **others):
            index = module.layer_idx
            keys_ksd, values_ksd = cached[index]
            _require_wide_window(
                index, others.get("sliding_window"), keys_ksd.shape[1] + len(ids)
            )
            output_htd, peaks_hc = attend_and_score(
                query[0],
                cached[index],
                (key[0], value[0]),
                span,
                self.sinks,
                scaling,
                others.get("softcap"),
                read.pop(index).norm(dim=-1).reciprocal() if self.plus else None,
            )
            if self.plus:
                peaks_hc = peaks_hc * _written_norms(
                    module, values_ksd[:, slice(*span)]
                )
            peaks.append(peaks_hc)
            if len(peaks) == len(cached):
                raise _Enough
            return output_htd.transpose(0, 1)[None].to(query.dtype), None

        positions = torch.arange(len(ids), device=model.device) + cached[0][0].shape[1]
        hooks = _remember_hidden(model, read) if self.plus else []
        try:
            with attention.replaced(model, attend, capped=True), torch.no_grad():
                model.base_model(
                    ids[None].to(model.device),
                    position_ids=positions[None],
                    use_cache=False,
                )
        except _Enough:
            pass
        finally:
            for hook in hooks:
                hook.remove()
        return peaks


class _Enough(Exception):
    """Raised behind the last layer's attention: nothing after it is needed."""


def _require_whole(cache, length):
    for index, layer in enumerate(cache.layers):
        held = tuple(layer.keys.shape)
        if held[0] != 1 or held[2] != length:
            raise ValueError(
                f"cache: layer {index} holds keys of shape {held}; "
                f"need [1, K, {length}, D], every key of the one sequence"
            )


def _require_wide_window(index, window, length):
    if window is not None and window < length:
        raise NotImplementedError(
            f"layer {index} sees a sliding window of {window} keys, and the replay "
            f"reaches over {length}: KVzip is not defined there"
        )


def _remember_hidden(model, read):
    """Hooks that put what each attention module reads, [T, E] float32, in ``read``."""

    def remember(module, arguments, named):
        hidden = named["hidden_states"] if "hidden_states" in named else arguments[0]
        read[module.layer_idx] = hidden[0].float()

    modules = [
        m
        for m in model.base_model.modules()
        if hasattr(m, "layer_idx") and hasattr(m, "o_proj")
    ]
    return [m.register_forward_pre_hook(remember, with_kwargs=True) for m in modules]


def _written_norms(module, values_kcd):
    """||W_O v|| of each query head's part of the output projection, [H, C] float32."""
    heads_hed = (
        module.o_proj.weight.float()
        .unflatten(1, (-1, values_kcd.shape[-1]))
        .transpose(0, 1)
    )
    group = len(heads_hed) // len(values_kcd)
    return torch.stack(
        [
            (values_kcd[h // group].float() @ w_ed.T).norm(dim=-1)
            for h, w_ed in enumerate(heads_hed)
        ]
    )


@functools.lru_cache(maxsize=4)
def _instruction(name):
    """The published instruction under the tokenizer of the model of that name."""
    from transformers import AutoTokenizer

    try:
        if name.startswith(bundled.BUNDLED_PACKAGE):
            name = bundled.converted_folder()
        elif not name:
            raise ValueError("the model has no name")
        tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=True)
    except (OSError, ValueError) as error:
        raise ValueError(
            "instruction: None, and the model's tokenizer is not found "
            f"({bundled.first_line(error)}); pass Instruction.of(tokenizer), "
            "or Instruction() to repeat without being asked"
        ) from error
    return Instruction.of(tokenizer)
