"""What is here, what each missing piece costs, and the command that mends it."""

import importlib.metadata
import os
import platform
import sys
from typing import NamedTuple

from kvteach import bundled, corpora, models


class Finding(NamedTuple):
    """One thing looked at. ``mend`` is empty when nothing need be done."""

    what: str
    state: str  # "ok", "missing" (the main job cannot run) or "optional"
    seen: str
    costs: str = ""
    mend: str = ""


OLDEST = {"torch": (2, 8), "transformers": (5, 2), "numpy": (2, 0)}
MEMORY_GIB = 4
"""What the main job needs: the model (0.6 GiB), torch and one document."""


def examine():
    """Look at everything and return the list of `Finding`s. Takes a few seconds."""
    return [
        _python(),
        *(_package(name, oldest) for name, oldest in OLDEST.items()),
        _model(),
        _corpus("english", "missing", "chapters have no English text to run on"),
        _corpus("code", "missing", "chapters have no source code to run on"),
        _corpus("french", "optional", "nothing is measured on French text"),
        _memory(),
        _book(),
        _triton(),
        _gpu(),
    ]


def report(findings):
    """The findings as lines of text, one or two each, and a verdict at the end."""
    marks = {"ok": "ok      ", "missing": "MISSING ", "optional": "optional"}
    lines = []
    for finding in findings:
        lines.append(f"{marks[finding.state]}  {finding.what}: {finding.seen}")
        if finding.mend:
            lines.append(f"{'':10}without it {finding.costs}")
            lines.append(f"{'':10}mend: {finding.mend}")
    broken = [finding.what for finding in findings if finding.state == "missing"]
    verdict = f"not ready: mend {', '.join(broken)} first" if broken else "ready"
    return "\n".join([*lines, "", f"kvteach is {verdict}"])


def main_job_runs(findings):
    """Whether the book can be built and its chapters run."""
    return all(finding.state != "missing" for finding in findings)


def _python():
    version = platform.python_version()
    if sys.version_info < (3, 10):
        return Finding(
            "Python", "missing", version, "nothing runs", "use Python 3.10 to 3.13"
        )
    return Finding("Python", "ok", version)


def _package(name, oldest):
    wanted = ".".join(map(str, oldest))
    mend = f'pip install "{name}>={wanted}"'
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "missing", "not installed", "nothing runs", mend)
    if tuple(int(part) for part in version.split(".")[:2]) < oldest:
        return Finding(name, "missing", f"{version} is too old", "models do not run", mend)
    return Finding(name, "ok", version)


def _model():
    costs = "no chapter has a model to look into"
    try:
        source = bundled.bundled_file()
        loaded = models.load(device="cpu")
    except models.ModelError as error:
        return Finding("model", "missing", str(error), costs, error.mend)
    except ImportError as error:
        return Finding("model", "missing", str(error), costs, "pip install -r requirements.txt")
    config = loaded.model.config
    shape = (
        f"{config.num_hidden_layers} layers, {config.num_attention_heads} query and "
        f"{config.num_key_value_heads} key-value heads"
    )
    size = source.stat().st_size / 1e6
    return Finding("model", "ok", f"{loaded.name} ({size:.0f} MB file; {shape})")


def _corpus(name, severity, costs):
    mend = {"english": corpora.INSTALL_ENGLISH, "french": corpora.FETCH_FRENCH}
    try:
        found = corpora.documents(name)
    except corpora.CorpusError:
        return Finding(f"{name} text", severity, "not here", costs, mend.get(name, ""))
    if not found:
        return Finding(
            f"{name} text", severity, "no file found", costs, "reinstall its package"
        )
    return Finding(f"{name} text", "ok", f"{len(found)} documents, {found[0].source}")


def _memory():
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        return Finding("memory", "ok", "size unknown on this system")
    if total < MEMORY_GIB:
        return Finding(
            "memory",
            "missing",
            f"{total:.1f} GiB",
            "chapters may be killed",
            f"use a machine with {MEMORY_GIB} GiB",
        )
    return Finding("memory", "ok", f"{total:.0f} GiB")


def _book():
    mend = "pip install -r requirements.txt"
    try:
        version = importlib.metadata.version("jupyter-book")
    except importlib.metadata.PackageNotFoundError:
        return Finding("jupyter-book", "optional", "not here", "the book cannot be built", mend)
    if not version.startswith("1."):
        return Finding(
            "jupyter-book",
            "optional",
            f"{version}; the book needs 1.x",
            "the book cannot be built: 2.x ignores _config.yml",
            'pip install "jupyter-book>=1.0.4.post1,<2"',
        )
    return Finding("jupyter-book", "ok", version)


def _triton():
    try:
        return Finding("triton", "ok", importlib.metadata.version("triton"))
    except importlib.metadata.PackageNotFoundError:
        return Finding(
            "triton",
            "optional",
            "not here",
            "kernels cannot be compiled; the torch references still run",
            "pip install triton  (Linux on x86-64 only)",
        )


def _gpu():
    try:
        import torch
    except ImportError:
        return Finding("GPU", "optional", "torch is missing", "", "")
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        memory = properties.total_memory / 2**30
        return Finding("GPU", "ok", f"{properties.name}, {memory:.0f} GiB")
    return Finding(
        "GPU",
        "optional",
        "none; everything runs on the CPU",
        "full-scale sizes are out of reach",
        "run the notebooks on a machine with a CUDA device",
    )
