"""Run every chapter's .ipynb from its first cell to its last (`make run-notebooks`).

    python tools/run_notebooks.py [NAME ...] [--folder DIR] [--out DIR]

Takes what `make notebooks` wrote and runs each notebook in its folder, as a notebook
server would: two at a time, offline, and with nothing of this repository on the path,
so that kvteach must be installed. Ends non-zero when a cell raises. NAME is the start
of a file's name, such as 08; --out keeps the notebooks with their outputs.
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

FOLDER = Path(__file__).resolve().parent.parent / "_build" / "notebooks"
AT_ONCE = 2
AROUND = {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "JUPYTER_PREFER_ENV_PATH": "1",
          "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // AT_ONCE))}


def run(path, out, cell_seconds=1800):
    """Run one notebook; return (seconds, traceback or None)."""
    began, trace = time.monotonic(), None
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=cell_seconds, kernel_name="python3",
                            resources={"metadata": {"path": str(path.parent)}})
    try:
        client.execute(env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | AROUND,
                       stderr=subprocess.DEVNULL)    # remarks of the kernel, not of cells
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        trace = str(error)
    if out:
        nbformat.write(notebook, out / path.name)
    return time.monotonic() - began, trace


def main():
    parser = argparse.ArgumentParser(description="Run the chapters as notebooks.")
    parser.add_argument("names", nargs="*", help="starts of file names; all by default")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    chosen = [path for path in sorted(asked.folder.glob("*.ipynb"))
              if not asked.names or path.name.startswith(tuple(asked.names))]
    if not chosen:
        sys.exit(f"There is no such notebook in {asked.folder}; run `make notebooks` first.")
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
    began, failed = time.monotonic(), []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = pool.map(lambda path: run(path, asked.out), chosen)
        for path, (seconds, trace) in zip(chosen, results):
            print(f"{path.stem}: {'FAILED' if trace else 'ran'} in {seconds:.0f} s", flush=True)
            if trace:
                failed.append(path.stem)
                print(trace)
    print(f"{len(chosen) - len(failed)} of {len(chosen)} notebooks ran, "
          f"{time.monotonic() - began:.0f} s")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
