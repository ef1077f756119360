"""Seconds of one call on a device, and what the device can do at best."""

import statistics
import time

import torch

FLUSH = 1 << 28  # bytes written between calls, more than any second-level cache


def seconds(call, device, repeats=20, warm=3):
    """Median seconds of ``call()``, with a cold second-level cache on a GPU.

    On a GPU by events, so that launches queue and the host does not count; on the CPU
    by the clock.
    """
    for _ in range(warm):
        call()
    if torch.device(device).type != "cuda":
        return statistics.median(_clock(call) for _ in range(repeats))
    scratch = torch.empty(FLUSH, dtype=torch.uint8, device=device)
    pairs = []
    for _ in range(repeats):
        scratch.zero_()
        pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        pair[0].record()
        call()
        pair[1].record()
        pairs.append(pair)
    torch.cuda.synchronize(device)
    return statistics.median(start.elapsed_time(end) for start, end in pairs) / 1e3


def _clock(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def roof(device, size):
    """Copy bandwidth (bytes read plus bytes written) and matrix rates of this device."""
    full = size == "full"
    source = torch.ones((1 << 30) // 4 if full else 1 << 16, device=device)
    target = torch.empty_like(source)
    copy = seconds(lambda: target.copy_(source), device)
    found = {"copy_bytes_per_s": 2 * source.nbytes / copy}
    side = 8192 if full else 128
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        for name, dtype, tf32 in (("float32", torch.float32, False),
                                  ("tf32", torch.float32, True),
                                  ("bfloat16", torch.bfloat16, False)):
            torch.backends.cuda.matmul.allow_tf32 = tf32
            a = torch.randn(side, side, device=device, dtype=dtype)
            taken = seconds(lambda: a @ a, device)
            found[f"{name}_flop_per_s"] = 2 * side**3 / taken
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    return found
