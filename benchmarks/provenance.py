"""What recorded numbers depend on: the processor, the model, the versions."""

import platform
from importlib.metadata import version


def machine(*packages, **facts):
    """The processor and versions, with ``facts`` of the run, as a dict for a result file."""
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.processor())
    return {"cpu": cpu, "threads": 1, **facts, "python": platform.python_version(),
            **{name: version(name) for name in packages}}
