"""A real model's layers as scoring rules see them, without compressing anything."""

from dataclasses import replace

import torch

from kvteach import attention
from kvteach.scores.layer import Layer


def layers(model, tokens, chosen=None):
    """One forward pass over ``tokens``; returns the chosen `Layer` objects, in order.

    model: a transformers causal language model; it is left as it was, also when an
    exception passes through. tokens: [S] ids of one sequence without padding. chosen:
    indices of layers, all by default. A `Layer` has its queries for all S rows, rotary
    tables, hidden states and module, so every rule can be called on it.

    Cost: a prefill without the vocabulary projection, and 4 S ((H + 2 K) D + E) bytes
    a layer in float32, E being the width of the hidden states. Raises ValueError for
    tokens of another shape and for an index out of range, and NotImplementedError
    where a layer does more than plain softmax attention over all earlier keys.
    """
    tokens = torch.as_tensor(tokens)
    if tokens.dim() != 1 or len(tokens) == 0:
        raise ValueError(f"tokens: shape {list(tokens.shape)}; need [S], S >= 1")
    depth = model.config.num_hidden_layers
    wanted = set(range(depth) if chosen is None else chosen)
    if not wanted or not wanted <= set(range(depth)):
        raise ValueError(f"chosen: {sorted(wanted)}; legal are 0 .. {depth - 1}")
    recorder = _Recorder(wanted)
    hooks = [
        module.register_forward_pre_hook(recorder.note, with_kwargs=True)
        for module in model.base_model.modules()
        if getattr(module, "layer_idx", None) in wanted and hasattr(module, "o_proj")
    ]
    try:
        with attention.replaced(model, recorder.attend), torch.no_grad():
            model.base_model(tokens[None].to(model.device), use_cache=False)
    finally:
        for hook in hooks:
            hook.remove()
    return [recorder.layers[index] for index in sorted(wanted)]


def prefix(layer, length):
    """The layer as it was when only the first ``length`` tokens had been read.

    Attention is causal, so nothing of them depends on what came later. Views, no
    copies. Raises ValueError for a length outside 1 .. S, and where fewer than all S
    rows were recorded.
    """
    if not 1 <= length <= layer.length:
        raise ValueError(f"length: {length}; legal are 1 .. {layer.length}")
    if layer.queries_htd.shape[1] != layer.length:
        raise ValueError(
            f"layer {layer.index}: {layer.queries_htd.shape[1]} rows were recorded; "
            f"need all {layer.length}"
        )
    cut = {
        name: None if table is None else table[:length]
        for name in ("cos_sd", "sin_sd", "hidden_td")
        for table in [getattr(layer, name)]
    }
    return replace(
        layer,
        queries_htd=layer.queries_htd[:, :length],
        keys_ksd=layer.keys_ksd[:, :length],
        values_ksd=layer.values_ksd[:, :length],
        **cut,
    )


class _Recorder:
    """Looks at what goes into each wanted attention layer."""

    def __init__(self, wanted):
        self.wanted, self.inputs, self.layers = wanted, {}, {}

    def note(self, module, args, named):
        """What the attention module is about to read."""
        hidden = named["hidden_states"] if "hidden_states" in named else args[0]
        self.inputs[module.layer_idx] = hidden, named.get("position_embeddings")

    def attend(self, module, query, key, value, mask, scaling, **others):
        """transformers' SDPA attention, after a look at its inputs."""
        index = module.layer_idx
        if index in self.wanted:
            window = others.get("sliding_window")
            if window is not None and window < key.shape[2]:
                raise NotImplementedError(
                    f"layer {index} sees a sliding window of {window} of "
                    f"{key.shape[2]} keys: rules rank layers that see all"
                )
            hidden, rotary = self.inputs.pop(index)
            cos, sin = (None, None) if rotary is None else (t[0] for t in rotary)
            self.layers[index] = Layer(
                index,
                query[0],
                key[0],
                value[0],
                scaling,
                cos_sd=cos,
                sin_sd=sin,
                hidden_td=hidden[0],
                module=module,
            )
        return attention.sdpa(module, query, key, value, mask, scaling, **others)
