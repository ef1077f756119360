"""Weights of learned scores on disk: safetensors, with where they come from.

A file holds one small set of tensors a layer, named ``layers.<index>.<name>``, which is
also how the published KVzap files name theirs. Its metadata says for which model they
were fitted, to which scores, on which text, with which seed.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch

_PUBLISHED = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class Fitted:
    """One dict of tensors a layer, and what is known about them."""

    layers: list
    about: dict = field(default_factory=dict)

    def of(self, layer, sizes):
        """Weights for a `Layer`, in float32 on its device.

        sizes: (hidden size, K) that they were made for. Raises ValueError where they
        were made for a model of other sizes, or the hidden states are missing.
        """
        if layer.hidden_td is None:
            raise ValueError(
                f"layer {layer.index}: its hidden states were not recorded"
            )
        config = getattr(layer.module, "config", None)
        depth = getattr(config, "num_hidden_layers", len(self.layers))
        ours = (len(self.layers), *sizes)
        model = (depth, layer.hidden_td.shape[1], layer.keys_ksd.shape[0])
        if ours != model:
            raise ValueError(
                f"weights: fitted for {self.about.get('model', 'another model')} with "
                "{} layers, hidden size {} and {} KV heads; ".format(*ours)
                + "this model has {}, {} and {}".format(*model)
            )
        wide = {"device": layer.hidden_td.device, "dtype": torch.float32}
        return {name: t.to(**wide) for name, t in self.layers[layer.index].items()}

    def write(self, path):
        """Write as float16 safetensors. ``about`` goes into the metadata."""
        from safetensors.torch import save_file

        tensors = {
            f"layers.{index}.{name}": tensor.half().contiguous()
            for index, layer in enumerate(self.layers)
            for name, tensor in layer.items()
        }
        save_file(tensors, path, {"kvteach": json.dumps(self.about)})


def read(path):
    """The `Fitted` in a safetensors file. Raises ValueError naming what is wrong."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {}).get("kvteach", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"path: {path} cannot be read as safetensors ({error})"
        ) from error
    layers = {}
    for name, tensor in tensors.items():
        parts = name.split(".", 2)
        if len(parts) != 3 or parts[0] != "layers" or not parts[1].isdigit():
            raise ValueError(
                f"path: {path} holds {name!r}; need names layers.<index>.<name>"
            )
        layers.setdefault(int(parts[1]), {})[parts[2]] = tensor
    if sorted(layers) != list(range(len(layers))) or not layers:
        raise ValueError(
            f"path: {path} holds layers {sorted(layers)}; need 0, 1, 2, ..."
        )
    return Fitted([layers[index] for index in range(len(layers))], about)


def require(path, layers, shapes):
    """Raise ValueError unless each layer holds tensors of these names, so shaped."""
    for index, layer in enumerate(layers):
        found = {name: tensor.ndim for name, tensor in layer.items()}
        if found != shapes:
            raise ValueError(
                f"path: {path}, layer {index} holds {found}; need {shapes} "
                "(names and numbers of dimensions)"
            )


def shipped(kind, model="smollm2-135m-instruct"):
    """The file of that kind that comes with the package, for the bundled model."""
    return _PUBLISHED / f"{kind}-{model}.safetensors"
