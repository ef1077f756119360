"""Check and time everything that runs on a GPU, and record it for the book.

    python tools/gpu_check.py                     # every part; some minutes on one GPU
    python tools/gpu_check.py --rehearse          # toy sizes on the CPU, recorded nowhere

First the tests marked `gpu`, then the copy bandwidth and matrix rates of the card, then
each part of `benchmarks/gpu`: checked, and timed beside the full cache in the same run.
Results go to benchmarks/results/gpu_<name>.json as they come; parts that
ran before are kept. Ends non-zero if a check failed; its figure is then not recorded.
"""

import argparse
import importlib
import json
import platform
import re
import subprocess
import sys
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.gpu import timing  # noqa: E402

PARTS = ("engine",)
PACKAGES = ("torch", "triton", "transformers", "numpy", "flashinfer-python", "flash-attn")


def installed(name):
    """The version of a package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def machine():
    """The card and the versions that its figures depend on."""
    card = torch.cuda.get_device_properties(0)
    return {"gpu": card.name, "memory_bytes": card.total_memory,
            "multiprocessors": card.multi_processor_count,
            "capability": f"{card.major}.{card.minor}", "cuda": torch.version.cuda,
            "python": platform.python_version(),
            **{name: installed(name) for name in PACKAGES if installed(name)}}


def gpu_tests():
    """Whether the tests marked `gpu` pass, and pytest's last line."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests", "-m", "gpu", "-q", "--no-header"],
        cwd=ROOT, capture_output=True, text=True)
    print(done.stdout[-3000:], flush=True)
    lines = done.stdout.strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else done.stderr[-300:]


def run_parts(chosen, device, size, record, save):
    """Run parts in order; returns the names of those that failed."""
    failed = []
    for name in chosen:
        began = time.perf_counter()
        try:
            part = importlib.import_module(f"benchmarks.gpu.{name}").run(device, size)
        except Exception:
            traceback.print_exc()
            failed.append(name)
            continue
        part["took_s"] = round(time.perf_counter() - began, 1)
        record[name] = part
        save()
        print(f"{name}: {json.dumps(part)}", flush=True)
    return failed


def main(arguments=None):
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--rehearse", action="store_true", help="toy sizes on the CPU")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks/results")
    parser.add_argument("--no-tests", action="store_true", help="skip the tests marked gpu")
    args = parser.parse_args(arguments)
    if unknown := sorted(set(args.parts) - set(PARTS)):
        parser.error(f"part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if not args.rehearse and not torch.cuda.is_available():
        parser.error("no CUDA device is here; --rehearse runs toy sizes on the CPU")
    chosen = args.parts or PARTS
    if args.rehearse:
        record = {"size": "rehearsal", "roof": timing.roof("cpu", "rehearsal")}
        return bool(run_parts(chosen, "cpu", "rehearsal", record, lambda: None))

    here = machine()
    name = re.sub(r"[^a-z0-9]+", "-", here["gpu"].lower()).strip("-")
    path = args.results / f"gpu_{name}.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    if record.get("machine") != here:
        record = {}  # figures of other versions are another run's
    record |= {"machine": here, "size": "full", "date": time.strftime("%Y-%m-%d"),
               "roof": timing.roof("cuda", "full")}

    def save():
        path.write_text(json.dumps(record, indent=1) + "\n")

    passed = True
    if not args.no_tests:
        passed, line = gpu_tests()
        record["tests"] = {"passed": passed, "line": line}
    save()
    failed = run_parts(chosen, "cuda", "full", record, save)
    print(f"written: {path}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
