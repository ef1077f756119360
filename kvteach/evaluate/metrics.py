"""How good an answer is, and how far a compressed cache is from the full one."""

import re
import string
from collections import Counter
from typing import NamedTuple

import torch

from kvteach.caches.layer import CompressedLayer
from kvteach.engine import Compressed


class Answer(NamedTuple):
    """A wanted answer under a model: nats and argmax hits of its tokens, [n] each."""

    nll: torch.Tensor
    right: torch.Tensor

    @property
    def exact(self):
        """Whether greedy decoding would give exactly this answer."""
        return bool(self.right.all())

    @property
    def tokens(self):
        """Share of answer tokens that are right when those before them are given."""
        return self.right.double().mean().item()

    @property
    def loss(self):
        """Mean nats per answer token."""
        return self.nll.mean().item()


# --- from logits ------------------------------------------------------------------


def answer(logits, tokens):
    """Score the answer ``tokens`` [n] by the logits [n, V] that predict them.

    One pass over the answer tells what greedy decoding would do: if every token is
    the argmax after those before it, decoding takes exactly this path; if not, it
    leaves it at the first that is not. Ties go to the smaller id, as torch's argmax.
    """
    _require_rows("tokens", tokens, logits)
    tokens = torch.as_tensor(tokens).to(logits.device)
    return Answer(cross_entropy(logits, tokens), (logits.argmax(-1) == tokens).cpu())


def ask(session, tokens, wanted):
    """Read a question ``tokens`` [m], score the answer ``wanted`` [n]; an `Answer`.

    session: a `kvteach.engine.Compressed`, which stays where it is, so that many
    questions follow one document. tokens None: the question was read already.
    """
    read = wanted if tokens is None else torch.cat([tokens, wanted])
    skipped = 0 if tokens is None else len(tokens)
    logits = session.fork().logits(read)[0]
    return answer(logits[skipped:-1], wanted)


def cross_entropy(logits, tokens):
    """Nats of each of ``tokens`` [n] under logits [n, V], [n] float32 on the CPU.

    On text that follows a compressed prompt this is held-out cross-entropy; compare
    methods token by token, because texts differ far more than methods do.
    """
    _require_rows("tokens", tokens, logits)
    tokens = torch.as_tensor(tokens).long().to(logits.device)
    return torch.nn.functional.cross_entropy(
        logits.float(), tokens, reduction="none"
    ).cpu()


def token_agreement(logits, full_logits):
    """Share of positions at which two sets of logits [n, V] have the same argmax."""
    if logits.shape != full_logits.shape or not len(logits):
        raise ValueError(
            f"logits: shape {list(logits.shape)}; "
            f"the full cache gave {list(full_logits.shape)}"
        )
    same = logits.argmax(-1).cpu() == full_logits.argmax(-1).cpu()
    return same.double().mean().item()


def _require_rows(name, tokens, logits):
    if logits.ndim != 2 or not len(tokens) or len(tokens) != len(logits):
        raise ValueError(
            f"{name}: {len(tokens)} for logits of shape {list(logits.shape)}"
        )


# --- from text --------------------------------------------------------------------


def string_match(text, accepted, every=False):
    """1.0 if an accepted answer occurs in the text, case aside.

    every: the share of accepted answers that occur, as RULER scores its retrieval
    tasks; otherwise one is enough, as it scores its question answering.
    """
    _require_accepted(accepted)
    found = [a.lower() in text.lower() for a in accepted]
    return sum(found) / len(found) if every else float(any(found))


def f1(text, accepted):
    """Best F1 of shared words with an accepted answer, after SQuAD's clean-up.

    Lower case, no punctuation, no articles; 2 p r / (p + r) over words with their
    counts. Two empty texts agree.
    """
    _require_accepted(accepted)
    return max(_f1(_words(text), _words(a)) for a in accepted)


def _f1(got, wanted):
    if not got or not wanted:
        return float(got == wanted)
    shared = sum((Counter(got) & Counter(wanted)).values())
    return 2 * shared / (len(got) + len(wanted))


def _words(text):
    text = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def _require_accepted(accepted):
    if isinstance(accepted, str) or not len(accepted):
        raise ValueError(f"accepted: {accepted!r}; need a list of one answer or more")


# --- inside the layers --------------------------------------------------------------


class LayerErrors(NamedTuple):
    """Relative errors of each layer's attention output, [L] float64 each.

    alone: the layer gets the full run's queries and new keys, so the error is what
    its own evictions did. through: it gets what lower layers passed on.
    """

    alone: torch.Tensor
    through: torch.Tensor


def attention_errors(session, full, tokens):
    """norm(o - o_full) / norm(o_full) of each layer over the next ``tokens`` [T].

    Returns `LayerErrors`. o: attention outputs [T, H, D] of a layer before its output
    projection, taken as one vector, in the rows of ``tokens`` and of what waited before
    them. session: a compressed prompt; full: the same prompt with everything kept, at
    the same place. Both stay where they are. A layer with a sliding window loses
    nothing, so its error alone is 0. Cost: two forward passes and one more attention
    per layer. Raises ValueError for sessions that are not of one prompt and model.
    """
    same = torch.equal(session.tokens_bt, full.tokens_bt)
    if not same or session.cache.get_seq_length() != full.cache.get_seq_length():
        raise ValueError("full: it has read other tokens than session")
    if session.model is not full.model:
        raise ValueError("full: it runs on another model than session")
    reference = _Listener(full, beside=session)
    reference.logits(tokens)
    compressed = _Listener(session)
    compressed.logits(tokens)
    layers = sorted(reference.outputs)
    exact = reference.outputs
    return LayerErrors(
        torch.stack([_relative(reference.others[i], exact[i]) for i in layers]),
        torch.stack([_relative(compressed.outputs[i], exact[i]) for i in layers]),
    )


class _Listener(Compressed):
    """A fork that remembers attention outputs, and what other layers would give."""

    def __init__(self, session, beside=None):
        fork = session.fork()
        super().__init__(
            fork.model,
            fork.cache,
            fork.tokens_bt,
            fork.mask_bt,
            fork.method,
            fork.ledger,
            fork.last,
        )
        self.beside = None if beside is None else beside.fork().cache.layers
        self.outputs = {}
        self.others = {}

    def _attend(self, module, query, key, value, mask, scaling, softcap=None, **others):
        index = module.layer_idx
        output, _ = super()._attend(
            module, query, key, value, mask, scaling, softcap, **others
        )
        self.outputs[index] = output
        if self.beside is not None:
            other = self.beside[index]
            self.others[index] = output
            if isinstance(other, CompressedLayer):
                # `key` and `value` are what the newest tokens add to this layer.
                other.update(key, value)
                self.others[index] = other.attend(query, mask, scaling, softcap)
        return output, None


def _relative(output, exact):
    output, exact = output.double(), exact.double()
    return ((output - exact).norm() / exact.norm()).cpu()
