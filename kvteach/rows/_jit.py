"""One decorator for the compiled loops of the exact solvers."""

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
