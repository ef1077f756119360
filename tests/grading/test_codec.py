"""What crosses between judge and worker comes out as it went in."""

import math
import socket
import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvteach.grading import codec

DTYPES = list(codec.TORCH_DTYPES.values())


@st.composite
def tensors(draw):
    """Any dtype, up to three axes, often transposed, stepped or expanded."""
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    seed = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    values = 100 * torch.rand(shape, generator=seed)
    tensor = values.to(draw(st.sampled_from(DTYPES)))
    if tensor.ndim > 1 and draw(st.booleans()):
        tensor = tensor.transpose(0, 1)
    if tensor.ndim and draw(st.booleans()):
        tensor = tensor[..., ::2]
    if draw(st.booleans()):
        tensor = tensor[None].expand(3, *tensor.shape)
    return tensor


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3)
    | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(scalars, inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_plain_values_round_trip(value):
    back = codec.decode(codec.encode(value))
    assert back == value
    assert repr(back) == repr(value)  # -0.0 == 0.0, True == 1 and 1.0 == 1


@given(tensors())
def test_tensors_round_trip(tensor):
    back = codec.decode(codec.encode(tensor))
    assert (back.dtype, back.shape) == (tensor.dtype, tensor.shape)
    assert torch.equal(back, tensor)
    if tensor.numel():
        assert back.stride() == tensor.stride()


@given(st.lists(tensors(), max_size=3))
def test_several_tensors_keep_their_places(many):
    back = codec.decode(codec.encode({"all": many}))["all"]
    assert all(torch.equal(one, other) for one, other in zip(back, many, strict=True))


@pytest.mark.parametrize("dtype", ["?", "<i2", ">i4", "<u8", "<f2", ">f8"])
def test_arrays_and_their_scalars_round_trip(dtype):
    array = np.arange(12).reshape(3, 4).astype(dtype)[:, ::2]
    back = codec.decode(codec.encode(array))
    assert back.dtype == array.dtype and np.array_equal(back, array)
    scalar = codec.decode(codec.encode(array[1, 1]))
    assert type(scalar) is type(array[1, 1]) and scalar == array[1, 1]


def test_nan_and_infinity():
    values = [math.inf, -math.inf, math.nan]
    back = codec.decode(codec.encode(values))
    assert back[:2] == values[:2] and math.isnan(back[2])


class Equal:
    """Equal to everything."""

    def __eq__(self, other):
        return True


class Number(float):
    """A float that may do anything."""


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Equal(), "Equal"),
        (Number(3.0), "Number"),
        (len, "builtin_function_or_method"),
        (torch.float32, "torch.dtype"),
        (torch.zeros(2).to_sparse(), "sparse"),
        (torch.zeros(2, device="meta"), "meta"),
        (np.array(["a"]), "ndarray"),
        (3j, "complex"),
        ({1, 2}, "set"),
    ],
)
def test_anything_else_is_only_a_name(value, name):
    back = codec.decode(codec.encode((value, 1)))
    assert type(back[0]) is codec.Foreign and name in back[0].type_name
    assert back[1] == 1


@given(st.binary(max_size=60))
def test_no_bytes_do_harm(noise):
    with pytest.raises(codec.CodecError):
        codec.decode(noise)


@given(st.integers(0, 200), st.integers(0, 255))
def test_a_changed_byte_is_a_value_or_a_codec_error(place, byte):
    message = bytearray(
        codec.encode([torch.arange(6.0).view(2, 3).T, (1, "a"), {2: None}])
    )
    message[place % len(message)] = byte
    try:
        codec.decode(bytes(message))
    except codec.CodecError:
        pass


def test_strides_that_leave_the_buffer_are_refused():
    message = codec.encode(torch.arange(6.0)).replace(b"[6], [1]", b"[6], [9]")
    with pytest.raises(codec.CodecError, match="bounds"):
        codec.decode(message)


def test_what_is_too_large_is_not_sent():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(codec.CodecError, match="at most"):
        codec.send(ours, torch.zeros(codec.LARGEST_MESSAGE // 4 + 1))


def test_large_messages_cross_in_pieces():
    ours, theirs = socket.socketpair()
    tensor = torch.arange(2**20)
    with ours, theirs:
        sender = threading.Thread(target=codec.send, args=(ours, tensor))
        sender.start()
        assert torch.equal(codec.receive(theirs), tensor)
        sender.join()


def test_a_closed_socket_is_an_end_of_file():
    ours, theirs = socket.socketpair()
    ours.sendall(b"\x05")
    ours.close()
    with theirs, pytest.raises(EOFError):
        codec.receive(theirs)
