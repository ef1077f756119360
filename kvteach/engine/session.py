"""A compressed prompt and what follows it: logits, text, further turns, files."""

import contextlib
import copy
from pathlib import Path

import torch
from transformers import Cache

from kvteach import attention, models
from kvteach.caches import account
from kvteach.caches.layer import CompressedLayer
from kvteach.engine import again, dense, files, plan

_REFUSED = {
    "assistant_model": "assisted decoding",
    "prompt_lookup_num_tokens": "prompt lookup",
    "assistant_early_exit": "early exit",
    "guidance_scale": "guidance by a second prompt",
}
"""Ways of decoding that read the prompt again, which is no longer there."""

_OURS = ("input_ids", "inputs_embeds", "attention_mask", "position_ids", "cache",
         "past_key_values", "cache_implementation", "use_cache", "cache_position")


class Compressed:
    """A prompt in a compressed cache, and every token since.

    Made by `kvteach.engine.compress`. `logits` and `generate` go on from where the
    last call ended, so a conversation has as many turns as it likes; `fork` starts a
    branch. Several may be alive on one model: all state is here, none on the model.
    """

    def __init__(
        self, model, cache, tokens_bt, mask_bt, method, ledger, last=None, again=None
    ):
        self.model = model
        self.cache = cache
        self.tokens_bt = tokens_bt  # every token so far; those not in the cache wait
        self.mask_bt = mask_bt  # False on padding
        self.method = method  # name
        self.ledger = ledger
        self.last = last  # logits after the newest token, [B, vocabulary], once read
        self.again = again  # evicts while decoding; None for once after the prompt

    @classmethod
    def start(cls, model, layers, made, ledger):
        """A session whose held-out token, and a question that came after, wait."""
        fresh = made.pending_bt[:, 1:]
        tokens = torch.cat([made.tokens_bt, fresh], 1)
        mask = torch.cat([made.mask_bt, torch.ones_like(fresh, dtype=torch.bool)], 1)
        return cls(model, Cache(layers=layers), tokens, mask, made.method.name, ledger,
                   again=again.make(made))

    def held_bytes(self):
        """Bytes of all layers now, tail with its slack included, counted from storage."""
        return account.held_bytes(self.cache)

    def logits(self, tokens=None):
        """Read ``tokens`` [n] or [B, n]; return logits [B, n + 1, vocabulary].

        Entry 0 predicts the first of ``tokens``, the last what follows them; in a
        sequence of a batch that ended before the others entry 0 follows its padding.
        Positions are those of the uncompressed text. Nothing is read without ``tokens``
        when the next-token logits are known already. Tokens read by one call see each
        other; a session that evicts while decoding evicts after them, once.
        """
        new = self._continuation(tokens)
        count = 0 if new is None else new.shape[1]
        with self._whole_or_not_at_all():
            self._append(new)
            return self._read(count)

    def _read(self, count):
        """Logits over everything that waits; those of the ``count`` newest and one more."""
        waiting = self.tokens_bt.shape[1] - self.cache.get_seq_length()
        if not waiting:
            return self.last[:, None]
        kept = min(waiting, count + 1)
        with self.attention(), torch.no_grad():
            read = self.model(
                self.tokens_bt[:, -waiting:],
                attention_mask=None if bool(self.mask_bt.all()) else self.mask_bt.long(),
                position_ids=(self.mask_bt.long().cumsum(1) - 1)[:, -waiting:],
                logits_to_keep=kept,
                **{models.cache_argument(self.model): self.cache},
            ).logits
        if kept < count + 1:
            read = torch.cat([self.last[:, None], read], 1)
        self.last = read[:, -1]
        return read

    def generate(self, tokens=None, **options):
        """New token ids [B, n] after ``tokens`` [T] or [B, T], by ``model.generate``.

        options: those of transformers (max_new_tokens, do_sample, num_beams, ...). With
        several beams or returned sequences the session itself stays where it was, also
        where copies that evict while decoding go on, which may end at different times;
        otherwise it has then read everything but the newest token. Raises ValueError
        for options that the session sets itself, and for ways of decoding that read the
        prompt again (assistants, prompt lookup, guidance). With
        return_dict_in_generate, transformers' own object, whose sequences begin with
        the prompt. What is interrupted leaves the session where it was.
        """
        copies = self._copies(options)
        new = self._continuation(tokens)
        with self._whole_or_not_at_all():
            return self._generate(new, copies, options)

    def _copies(self, options):
        """Sequences per prompt; ValueError for options that cannot be honoured."""
        if clash := sorted(set(options) & set(_OURS)):
            raise ValueError(f"{clash[0]}: the session sets this itself")
        config = copy.deepcopy(options.get("generation_config") or self.model.generation_config)
        config.update(**{k: v for k, v in options.items() if k != "generation_config"})
        for name, what in _REFUSED.items():
            if options.get(name, getattr(config, name, None)) not in (None, 1, 1.0):
                raise ValueError(f"{name}: {what} reads the prompt again, which is compressed")
        if config.use_cache is False or config.cache_implementation in ("static", "quantized"):
            raise ValueError("generation_config: the session sets the cache itself")
        return max(config.num_beams or 1, config.num_return_sequences or 1)

    def _generate(self, new, copies, options):
        goes_on = copies == 1 and (self.again is None or len(self.tokens_bt) == 1)
        target = self if goes_on else self.fork()
        target._append(new)
        target._hold_one()
        before = target.tokens_bt.shape[1]
        ids, mask = target.tokens_bt, target.mask_bt.long()
        if copies > 1:  # transformers repeats the ids itself, but not the cache
            target = target.fork(copies)
        with target.attention():
            output = self.model.generate(
                ids,
                attention_mask=mask,
                **{models.cache_argument(self.model): target.cache},
                **options,
            )
        sequences = output if isinstance(output, torch.Tensor) else output.sequences
        if goes_on:
            target._append(sequences[:, before:], self._after_end(sequences[:, before:], options))
            target.last = None
        return sequences[:, before:] if output is sequences else output

    def fork(self, copies=1):
        """A session that goes on by itself from here, as a batch of ``copies`` if asked.

        copies: each sequence so many times, >= 1. Kept keys are shared where the store
        is ragged or there is one copy.
        """
        if isinstance(copies, bool) or not isinstance(copies, int) or copies < 1:
            raise ValueError(f"copies: {copies!r}; need a whole number >= 1")
        layers = [_fork_layer(layer) for layer in self.cache.layers]
        if copies > 1:
            for layer in layers:
                layer.batch_repeat_interleave(copies)
        last = self.last if self.last is None else self.last.repeat_interleave(copies, 0)
        return Compressed(
            self.model, Cache(layers=layers), self.tokens_bt.repeat_interleave(copies, 0),
            self.mask_bt.repeat_interleave(copies, 0), self.method, self.ledger, last,
            self.again,
        )

    def save(self, path):
        """Write the cache and the tokens as safetensors; `restore` reads them."""
        files.write(Path(path), self)

    # --- inside -------------------------------------------------------------------

    def attention(self):
        """A context in which the model's own calls read this session's cache."""
        return attention.replaced(self.model, self._attend, capped=True)

    def _attend(self, module, query, key, value, mask, scaling, softcap=None, **_):
        layer = self.cache.layers[module.layer_idx]
        if isinstance(layer, CompressedLayer):
            output = layer.attend(query, mask, scaling, softcap)
            if self.again is not None:
                self.again.read(layer, module, query, scaling, softcap)
            return output, None
        return dense.attend(module, query, key, value, mask, scaling, softcap), None

    def _continuation(self, tokens):
        """Checked ids [B, n], None for none."""
        if tokens is None:
            return None
        batch = len(self.tokens_bt)
        new = plan.ids("tokens", tokens, self.model)
        if len(new) not in (1, batch):
            raise ValueError(f"tokens: {len(new)} rows; need 1 or {batch}")
        plan.require_context(self.model.config, self.tokens_bt.shape[1] + new.shape[1])
        return new.expand(batch, -1)

    def _append(self, new, padding=None):
        if new is not None:
            self.tokens_bt = torch.cat([self.tokens_bt, new], 1)
            seen = torch.ones_like(new, dtype=torch.bool) if padding is None else ~padding
            self.mask_bt = torch.cat([self.mask_bt, seen], 1)

    def _after_end(self, new, options):
        """What transformers fills up with after a sequence of a batch has ended."""
        config = options.get("generation_config") or self.model.generation_config
        ends = options.get("eos_token_id", config.eos_token_id)
        if ends is None or len(new) == 1:
            return None
        end = torch.isin(new, torch.as_tensor(ends, device=new.device)).long()
        return end.cumsum(1) - end > 0  # an end before this token

    @contextlib.contextmanager
    def _whole_or_not_at_all(self):
        """Put the session back where it was if an exception passes through."""
        tokens, mask, last = self.tokens_bt, self.mask_bt, self.last
        layers = [{**vars(layer)} for layer in self.cache.layers]
        try:
            yield
        except BaseException:
            self.tokens_bt, self.mask_bt, self.last = tokens, mask, last
            for layer, before in zip(self.cache.layers, layers):
                vars(layer).update(before)
            raise

    def _hold_one(self):
        """transformers generates from a token that it reads: make sure that one waits."""
        if self.cache.get_seq_length() < self.tokens_bt.shape[1]:
            return
        if not all(isinstance(layer, CompressedLayer) for layer in self.cache.layers):
            raise ValueError(
                "tokens: everything has been read, and a sliding window cannot step back; "
                "pass the next tokens"
            )
        self.cache.crop(-1)


def _fork_layer(layer):
    if isinstance(layer, CompressedLayer):
        return layer.fork()
    return dense.sliding_layer(
        layer.keys, layer.values, layer.sliding_window, layer.cumulative_length
    )


def restore(model, path):
    """The `Compressed` that was saved to ``path``, on ``model``.

    Raises ValueError for a file that another model wrote or that is none of ours.
    """
    return files.read(Path(path), model, Compressed)
