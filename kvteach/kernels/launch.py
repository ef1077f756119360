"""What every launcher needs: Triton where it is installed, and the choice by device."""

from types import SimpleNamespace

try:
    import triton
    import triton.language as tl
except ImportError:  # Triton exists for Linux and a few others; references run everywhere
    triton, tl = None, SimpleNamespace(constexpr=None)

BACKENDS = ("torch", "triton")


def jit(kernel):
    """`triton.jit`, or the bare function where Triton is not installed."""
    return kernel if triton is None else triton.jit(kernel)


def choose(backend, *tensors):
    """The backend of a call: "triton" for CUDA tensors, else "torch", unless it is named.

    A named "triton" takes tensors of the CPU too: the interpreter runs them, and a
    compile-only launch (`kvteach.testing`) reads no more than their types. Raises
    ValueError for another name, RuntimeError where Triton is asked for and missing.
    """
    if backend is None:
        on_gpu = triton is not None and all(tensor.is_cuda for tensor in tensors)
        return "triton" if on_gpu else "torch"
    if backend not in BACKENDS:
        raise ValueError(f"backend: {backend!r}; need one of {BACKENDS}, or None to choose")
    if backend == "triton" and triton is None:
        raise RuntimeError("backend: 'triton', but Triton is not installed here")
    return backend
