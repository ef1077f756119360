"""Values as bytes: how arguments and results cross between processes.

Never pickle: unpickling runs code that the sender chose, and the sender is a
learner's program. A message is a JSON tree, which names every kind it holds,
followed by the raw bytes of the tensors and arrays. Tensors keep their strides,
so that a non-contiguous argument arrives non-contiguous. A value of any other
type arrives as `Foreign`, which carries nothing but the name of the type.
"""

import json
import math
import struct
from dataclasses import dataclass

import numpy as np
import torch

HEADER = struct.Struct("<Q")
LARGEST_MESSAGE = 64 * 2**20
"""Bytes. Exercises pass kilobytes; a larger result is a mistake."""

TORCH_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float16, torch.bfloat16, torch.float32, torch.float64,
    )
}  # fmt: skip
NUMPY_KINDS = "biuf"


class CodecError(ValueError):
    """The bytes are no message."""


@dataclass(frozen=True)
class Foreign:
    """Stands for a value that does not cross: all we know is its type's name."""

    type_name: str


def encode(value):
    """The bytes of ``value``. Raises RecursionError for a list inside itself."""
    buffers = []
    tree = _describe(value, buffers)
    head = json.dumps([tree, [len(b) for b in buffers]]).encode()
    return b"".join([HEADER.pack(len(head)), head, *buffers])


def decode(message):
    """The value of the bytes. Raises CodecError for anything `encode` never wrote."""
    try:
        (length,) = HEADER.unpack_from(message)
        start = HEADER.size + length
        tree, sizes = json.loads(bytes(message[HEADER.size : start]))
        buffers = []
        for size in sizes:
            if size < 0 or start + size > len(message):
                raise CodecError("a buffer is cut short")
            buffers.append(message[start : start + size])
            start += size
        return _build(tree, buffers)
    except CodecError:
        raise
    except Exception as error:  # bytes made up by a learner's program may be anything
        raise CodecError(f"not a message: {error}") from None


def _describe(value, buffers):
    # Exact types only: a subclass may override == or anything else.
    kind = type(value)
    if value is None:
        return ["none"]
    if kind is bool or kind is str:
        return [kind.__name__, value]
    if kind is int:
        return ["int", hex(value)]
    if kind is float:
        return ["float", value.hex()]
    if kind is list or kind is tuple:
        return [kind.__name__, [_describe(item, buffers) for item in value]]
    if kind is dict:
        pairs = [
            [_describe(k, buffers), _describe(v, buffers)] for k, v in value.items()
        ]
        return ["dict", pairs]
    if kind is torch.Tensor or kind is torch.nn.Parameter:
        return _describe_tensor(value.detach(), buffers)
    if kind is np.ndarray or isinstance(value, np.generic):
        if value.dtype.kind in NUMPY_KINDS:
            buffers.append(np.ascontiguousarray(value).tobytes())
            name = "array" if kind is np.ndarray else "scalar"
            return [name, value.dtype.str, list(value.shape)]
    return [
        "foreign",
        f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."),
    ]


def _describe_tensor(tensor, buffers):
    dtype = str(tensor.dtype).removeprefix("torch.")
    crosses = tensor.layout is torch.strided and tensor.device.type == "cpu"
    if dtype not in TORCH_DTYPES or not crosses:
        where = f"{tensor.layout}, {tensor.dtype}, {tensor.device}"
        return ["foreign", f"torch.Tensor ({where})"]
    shape, strides = list(tensor.shape), list(tensor.stride())
    span = 0
    if tensor.numel():
        span = 1 + sum((n - 1) * step for n, step in zip(shape, strides))
    flat = torch.as_strided(tensor, (span,), (1,), tensor.storage_offset())
    buffers.append(flat.view(torch.uint8).numpy().tobytes())
    return ["tensor", dtype, shape, strides]


def _build(tree, buffers):
    kind, *rest = tree
    if kind == "none":
        return None
    if kind == "bool" or kind == "str":
        return rest[0]
    if kind == "int":
        return int(rest[0], 16)
    if kind == "float":
        return float.fromhex(rest[0])
    if kind == "list":
        return [_build(item, buffers) for item in rest[0]]
    if kind == "tuple":
        return tuple(_build(item, buffers) for item in rest[0])
    if kind == "dict":
        return {_build(k, buffers): _build(v, buffers) for k, v in rest[0]}
    if kind == "tensor":
        return _build_tensor(*rest, buffers.pop(0))
    if kind == "array" or kind == "scalar":
        array = np.frombuffer(buffers.pop(0), np.dtype(rest[0])).reshape(rest[1]).copy()
        return array if kind == "array" else array[()]
    if kind == "foreign":
        return Foreign(str(rest[0]))
    raise CodecError(f"unknown kind {kind!r}")


def _build_tensor(dtype, shape, strides, buffer):
    if not buffer:
        if math.prod(shape):
            raise CodecError("a tensor has no data")
        return torch.empty_strided(shape, strides, dtype=TORCH_DTYPES[dtype])
    flat = torch.frombuffer(bytearray(buffer), dtype=TORCH_DTYPES[dtype])
    return torch.as_strided(flat, shape, strides)  # raises where it leaves the buffer


def send(sock, value):
    """Write one value to a socket."""
    message = encode(value)
    if len(message) > LARGEST_MESSAGE:
        raise CodecError(f"{len(message)} bytes; at most {LARGEST_MESSAGE} cross")
    sock.sendall(HEADER.pack(len(message)) + message)


def receive(sock):
    """Read one value from a socket. Raises EOFError where the other side is gone."""
    (length,) = HEADER.unpack(_read(sock, HEADER.size))
    if length > LARGEST_MESSAGE:
        raise CodecError(f"{length} bytes; at most {LARGEST_MESSAGE} cross")
    return decode(_read(sock, length))


def _read(sock, length):
    data = bytearray()
    while len(data) < length:
        chunk = sock.recv(min(length - len(data), 2**20))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)
