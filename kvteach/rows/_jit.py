"""One decorator for the compiled loops of the exact solvers."""

import contextlib
import hashlib
from pathlib import Path

import numba

# Sums may be reordered, which lets them use vector instructions; infinities and
# comparisons keep their meaning, because bounds rely on them.
_FLAGS = {"reassoc", "contract", "nsz", "arcp"}


def jit(function):
    """Compile ``function`` on first use; keep the result on disk where possible."""
    options = {"fastmath": _FLAGS, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to keep it in
        return numba.njit(**options)(function)


def forget_stale(folder):
    """Drop kept results of ``folder`` when one of its compiled files has changed.

    A kept result holds the functions that it calls, also those of other files, but
    is recognised as old by the time of its own file only.
    """
    sources = b"".join(path.read_bytes() for path in sorted(folder.glob("_*.py")))
    digest, kept = hashlib.sha256(sources).hexdigest(), folder / "__pycache__"
    stamp = kept / "compiled.sha256"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    with contextlib.suppress(OSError):  # read-only: installed, and never edited
        kept.mkdir(exist_ok=True)
        for path in [*kept.glob("*.nbi"), *kept.glob("*.nbc")]:
            path.unlink(missing_ok=True)
        stamp.write_text(digest)


forget_stale(Path(__file__).parent)
