"""Training data for learned scores: what a layer reads, and what KVzip says of it."""

from dataclasses import dataclass

import torch
from transformers import DynamicCache

from kvteach import models


@dataclass(frozen=True)
class Harvest:
    """Keys sampled from documents: N hidden states and targets of each layer."""

    hidden: list  # layer -> [N, E] float16
    target: list  # layer -> [N, K] float32
    document: torch.Tensor  # [N] index of the document that a row comes from

    def split(self, documents):
        """Rows of the other documents, and rows of the ``documents`` held out."""
        out_n = torch.isin(self.document, torch.as_tensor(documents))
        return self._rows(~out_n), self._rows(out_n)

    def _rows(self, chosen_n):
        parts = (
            [states[chosen_n] for states in each] for each in (self.hidden, self.target)
        )
        return Harvest(*parts, self.document[chosen_n])


def harvest(model, documents, rule, generator, keys=400):
    """Hidden states and ``rule`` scores of ``keys`` random keys a document.

    documents: [S] token ids each. rule: a score rule with a second pass, such as KVzip.
    Keys that it says must stay are not sampled. generator: a torch generator.

    Cost: a prefill and a replay a document; 2 L E + 4 L K bytes a sampled key. Raises
    ValueError for a document with fewer than ``keys`` keys to sample.
    """
    hidden, target, origin = [], [], []
    for index, tokens in enumerate(documents):
        cache, read = _prefill(model, tokens)
        scores = torch.stack(rule.replay(model, tokens, cache))
        free = torch.isfinite(scores).all(0).all(0).nonzero()[:, 0].cpu()
        if len(free) < keys:
            raise ValueError(
                f"documents: number {index} has {len(free)} keys to sample; need {keys}"
            )
        chosen = free[torch.randperm(len(free), generator=generator)[:keys]]
        hidden.append([states[chosen].half() for states in read])
        target.append(scores[:, :, chosen].transpose(1, 2).cpu())
        origin.append(torch.full((keys,), index))
    layers = range(len(hidden[0]))
    return Harvest(
        [torch.cat([of_document[layer] for of_document in hidden]) for layer in layers],
        [torch.cat([of_document[layer] for of_document in target]) for layer in layers],
        torch.cat(origin),
    )


def _prefill(model, tokens):
    """A full cache of the tokens, and what each attention read, [S, E] a layer."""
    cache, read = DynamicCache(), {}

    def remember(module, arguments, named):
        hidden = named["hidden_states"] if "hidden_states" in named else arguments[0]
        read[module.layer_idx] = hidden[0].cpu()

    modules = [m for m in model.base_model.modules() if hasattr(m, "layer_idx")]
    hooks = [
        m.register_forward_pre_hook(remember, with_kwargs=True)
        for m in modules
        if type(m).__name__.endswith("Attention")
    ]
    try:
        with torch.no_grad():
            model.base_model(
                tokens[None].to(model.device),
                **{models.cache_argument(model): cache},
            )
    finally:
        for hook in hooks:
            hook.remove()
    return cache, [read[index] for index in sorted(read)]
