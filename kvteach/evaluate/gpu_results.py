"""What was measured on GPUs, for the book to read: files that `tools/gpu_check.py` writes.

A chapter asks for the runs on record and prints what they say with the machine's name;
where there is none it says that the figure was not measured.
"""

import json
from pathlib import Path

NOT_MEASURED = "Not measured: no run of tools/gpu_check.py is on record."


def recorded(folder):
    """The complete GPU runs in ``folder``, as dicts, in order of file name.

    folder: as a rule the repository's benchmarks/results. A file is gpu_<name>.json
    with the keys "machine", "roof" and one for each part; rehearsals on a CPU are not
    runs and are passed over. Raises ValueError naming a file that is no such record.
    """
    runs = []
    for path in sorted(Path(folder).glob("gpu_*.json")):
        try:
            run = json.loads(path.read_text())
        except json.JSONDecodeError as error:
            raise ValueError(f"folder: {path.name} is no JSON ({error})") from None
        if not isinstance(run, dict) or not {"machine", "roof", "size"} <= run.keys():
            raise ValueError(f"folder: {path.name} has no machine, roof and size")
        if run["size"] == "full":
            runs.append(run)
    return runs


def report(folder, part, lines):
    """Lines on one part of every run, each headed by its machine; or that there is none.

    lines: a function of (part's dict, roof's dict) that returns strings. Returns text.
    """
    said = []
    for run in recorded(folder):
        if part in run:
            said.append(f"{run['machine']['gpu']} ({run['date']}):")
            said += [f"    {line}" for line in lines(run[part], run["roof"])]
    return "\n".join(said) if said else NOT_MEASURED
