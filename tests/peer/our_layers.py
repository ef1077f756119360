"""Our side of the comparison: layers, what was recorded of the peer, and closeness.

Scores agree within 1e-5 of the largest score of a layer: both sides are float32 sums
over the same few hundred terms, in another order, of states that went through up to 30
layers (the largest deviation seen is 1.2e-6). Kept sets are the same but for ties:
where they differ, the scores of all the keys in question lie within twice that.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file

from kvteach import attention
from kvteach.scores.layer import Layer

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "peer.json").read_text())
RATIO = RECORDED["ratio"]
TOLERANCE = 1e-5


@dataclass
class Subject:
    """One model with what kvpress scored and kept on it."""

    model: object
    tokens: torch.Tensor
    recorded: dict
    tensors: dict
    layers: list  # every layer of the model, as scoring rules see it

    def peer(self, press, what, layer):
        """A recorded tensor: ``what`` is "score" [K, S] or "kept" [K, S] bool."""
        return self.tensors[f"{press}/{what}/{layer}"]

    @property
    def chosen(self):
        """The layers that were recorded."""
        return self.recorded["layers"]


def subject(name, model=None):
    """The tiny model from its recorded weights, or a loaded one."""
    recorded, tensors = RECORDED[name], load_file(HERE / f"{name}.safetensors")
    model = tiny(recorded["config"], tensors) if model is None else model
    tokens = torch.tensor(recorded["tokens"])
    return Subject(model, tokens, recorded, tensors, layers_of(model, tokens))


def tiny(config, tensors):
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(**config)).eval()
    prefix = "model/"
    named = {n.removeprefix(prefix): n for n in tensors if n.startswith(prefix)}
    model.load_state_dict({short: tensors[name] for short, name in named.items()})
    return model


def layers_of(model, tokens):
    """Every layer of one forward pass, with hidden states."""
    read, layers = {}, []

    def remember(module, arguments, named):
        hidden, rotary = named["hidden_states"], named["position_embeddings"]
        read[module.layer_idx] = (hidden[0], rotary)

    def attend(module, query, key, value, mask, scaling, **others):
        from transformers import AttentionInterface

        hidden_td, (cos, sin) = read[module.layer_idx]
        layers.append(
            Layer(
                module.layer_idx,
                query[0],
                key[0],
                value[0],
                scaling,
                cos_sd=cos[0],
                sin_sd=sin[0],
                hidden_td=hidden_td,
                module=module,
            )
        )
        sdpa = AttentionInterface()["sdpa"]
        return sdpa(module, query, key, value, mask, scaling=scaling)

    hooks = [
        layer.self_attn.register_forward_pre_hook(remember, with_kwargs=True)
        for layer in model.model.layers
    ]
    try:
        with attention.replaced(model, attend), torch.no_grad():
            model.model(tokens[None], use_cache=False)
    finally:
        for hook in hooks:
            hook.remove()
    return layers


def share(length):
    """Keys a head that kvpress keeps."""
    return int(length * (1 - RATIO))


def largest(score):
    """The largest finite magnitude."""
    return score[score.isfinite()].abs().max().item()


def same_scores(ours, peer, tolerance=TOLERANCE):
    """Equal where we do not force a key; what we force is above all else there."""
    free = ~ours.isposinf()
    off = (ours - peer)[free].abs().max().item()
    assert off <= tolerance * largest(peer[free])
    if not free.all():
        assert peer[~free].min() >= peer[free].max()


def same_kept(ours, peer, score, tolerance=TOLERANCE):
    """The same set, up to keys whose scores tie."""
    assert ours.sum() == peer.sum()
    in_question = score[ours != peer]
    if len(in_question):
        spread = in_question.max() - in_question.min()
        assert spread <= 2 * tolerance * largest(score)
