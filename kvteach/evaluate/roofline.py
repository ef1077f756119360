"""The least time that a decode step can take: bytes over bandwidth, FLOP over peak.

Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009.
"""

import time
from typing import NamedTuple

import torch


class Machine(NamedTuple):
    """What a machine can do at best: bytes per second and FLOP per second."""

    name: str
    bandwidth: float
    peak: float

    @property
    def balance(self):
        """FLOP per byte above which arithmetic, not memory, is the limit."""
        return self.peak / self.bandwidth


class Step(NamedTuple):
    """What one decode step of a whole batch moves and computes."""

    weight_bytes: float
    cache_bytes: float
    flop: float

    @property
    def intensity(self):
        """FLOP per byte moved."""
        return self.flop / (self.weight_bytes + self.cache_bytes)


def decode_step(parameters, bytes_per_token, tokens, batch, group_size, itemsize=2):
    """Traffic and arithmetic of one new token for each of ``batch`` sequences.

    Weights are read once for the batch, every sequence's cache once:
    parameters * itemsize + batch * tokens * bytes_per_token. Each weight gives
    2 FLOP a sequence; each cached element 2 FLOP a query head of its group.
    Activations are left out: they are thousands of times smaller.
    """
    cache = batch * tokens * bytes_per_token
    flop = batch * 2 * parameters + 2 * group_size * cache / itemsize
    return Step(parameters * itemsize, cache, flop)


def least_seconds(step, machine):
    """max(bytes / bandwidth, FLOP / peak): no program on the machine is faster."""
    moved = step.weight_bytes + step.cache_bytes
    return max(moved / machine.bandwidth, step.flop / machine.peak)


def measure(device="cpu", seconds=0.5):
    """Copy bandwidth and matrix rate of this machine, as a `Machine`.

    Copies 256 MiB (every byte is read and written, so counted twice) and
    multiplies 2048 x 2048 float32 matrices, each for about ``seconds``; the
    best of the repeats counts, since a roof is what can be reached.
    """
    source = torch.ones(2**26, device=device)
    target = torch.empty_like(source)
    a = torch.ones(2048, 2048, device=device)
    copy = _best(lambda: target.copy_(source), seconds, device)
    multiply = _best(lambda: a @ a, seconds, device)
    return Machine(str(device), 2 * source.nbytes / copy, 2 * 2048**3 / multiply)


def _best(action, seconds, device):
    """Shortest time of one call, over as many calls as fit into ``seconds``."""

    def once():
        start = time.perf_counter()
        action()
        if torch.device(device).type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - start

    once()  # allocates, loads code
    end = time.perf_counter() + seconds
    best = once()
    while time.perf_counter() < end:
        best = min(best, once())
    return best
