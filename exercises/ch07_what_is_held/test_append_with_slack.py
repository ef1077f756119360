"""Checks of ch07/append_with_slack."""

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=5,
    title="A tail with slack",
    difficulty=2,
    minutes=25,
    hints=(
        "A shelf is full and a book comes. If each new shelf has one place more, how "
        "often is the first book carried by the time the hundredth has come?",
        "Grow only when length + new is more than the room. Then make a new buffer, "
        "copy the first `length` entries, and write the chunk behind them.",
        "needed = length + new; max(needed + needed // 4, length + least). Count "
        "`length` at each growth; idle are width - length entries, keys and values.",
    ),
)


def rooms(sizes, least):
    """Room, length and copied entries after chunks of these sizes, by counting."""
    held = length = copied = 0
    for new in sizes:
        if length + new > held:
            copied += length
            held = max((length + new) + (length + new) // 4, length + least)
        length += new
    return held, length, copied


def random_chunks(seed, sizes, heads=2, dim=3, dtype=torch.float32):
    """Chunks of these many entries, not contiguous."""
    g = torch.Generator().manual_seed(seed)
    return [
        torch.randn(heads, dim, n, generator=g).to(dtype).transpose(1, 2) for n in sizes
    ]


def require(answer, chunks, least):
    """Check contents, room and count against `rooms`."""
    sizes = [chunk.shape[1] for chunk in chunks]
    held, length, copied = rooms(sizes, least)
    got = answer.append_all(chunks, least=least)
    expect(
        type(got) is tuple and len(got) == 3,
        "append_all must return (buffer, length, copied)",
    )
    buffer = got[0]
    three = type(buffer) is torch.Tensor and buffer.ndim == 3
    expect(three, "the buffer is no tensor [K, M, D]")
    mistakes = {
        "the chunk counts as copied too": rooms_with(sizes, least, chunk=True),
        "the whole old room counts as copied": rooms_with(sizes, least, whole=True),
    }
    mistakes = {k: x for k, x in mistakes.items() if x != copied}
    expect_same(got[1], length, name="the length")
    width = f"the room after {length} entries in {len(sizes)} chunks"
    expect_same(buffer.shape[1], held, name=width)
    expect_same(got[2], copied, mistakes=mistakes, name="the number of copied entries")
    expect_same(buffer[:, :length], torch.cat(chunks, 1), name="what the buffer holds")


def rooms_with(sizes, least, chunk=False, whole=False):
    """Copied entries counted in a wrong way."""
    held = length = copied = 0
    for new in sizes:
        if length + new > held:
            copied += (held if whole else length) + (new if chunk else 0)
            held = max((length + new) + (length + new) // 4, length + least)
        length += new
    return copied


@check(points=1, likely="a quarter more than needed, at least `least` more than used.")
def test_room(answer):
    """Room for small and large needs"""
    for length, new, least in ((0, 1, 64), (0, 80, 64), (64, 1, 64), (300, 1, 64)):
        want = max((length + new) * 5 // 4, length + least)
        mistakes = {
            "the least room is counted from 0": max((length + new) * 5 // 4, least),
            "a quarter of what was used is added": max(
                length + new + length // 4, length + least
            ),
            "the new entries are forgotten": max(length * 5 // 4, length + least),
        }
        mistakes = {k: x for k, x in mistakes.items() if x != want}
        got = answer.room(length, new, least)
        expect_same(got, want, mistakes=mistakes, name=f"the room after {length}")


@check(points=3, likely="grow only where a chunk does not fit, and keep what is there.")
def test_one_by_one(answer):
    """Two hundred tokens, one at a time, with little least room"""
    require(answer, random_chunks(741, [1] * 200), 8)


@check(points=2, likely="a chunk that just fills the room fits.")
def test_chunks(answer):
    """Chunks of many sizes: a long first one, one that just fits, one far too long"""
    sizes = [5, 3, 1, 40, 2, 1, 9, 1]
    require(answer, random_chunks(742, sizes, dtype=torch.bfloat16), 8)
    require(answer, random_chunks(743, [30, 7, 1], heads=1), 4)
    require(answer, random_chunks(744, [64], heads=3), 64)


@check(points=1, likely="keys and values have a buffer each, and every head its slack.")
def test_idle(answer):
    """Idle bytes of buffers in two types"""
    for dtype, itemsize in ((torch.float32, 4), (torch.bfloat16, 2)):
        buffer = torch.zeros(3, 64, 16, dtype=dtype)
        for length in (33, 64, 0):
            want = 2 * 3 * (64 - length) * 16 * itemsize
            mistakes = {
                "values are left out": want // 2,
                "the slack of one head is counted": want // 3,
                "what is used is counted": 2 * 3 * length * 16 * itemsize,
            }
            mistakes = {k: x for k, x in mistakes.items() if x != want}
            got = answer.idle_bytes(buffer, length)
            expect_same(got, want, mistakes=mistakes, name="the idle bytes")
