"""Checks of ch07/pack_ragged."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=1,
    title="Pack to ragged, and unpack",
    difficulty=1,
    minutes=20,
    hints=(
        "Write the kept keys of three heads, 2, 0 and 3 of them, on one line. Which "
        "numbers must you write down to cut the line at the right places again?",
        "A tensor indexed by a boolean tensor gives its rows in order of b, then k, "
        "then s. The offsets are running sums of the counts, with a 0 before them.",
        "offsets[1:] = kept.sum(-1).flatten().cumsum(0). To unpack, write keys[:used] "
        "to [head, position], where head i is repeated offsets.diff()[i] times.",
    ),
)

PARTS = "keys", "positions", "offsets"
UNPACKED = "keys", "mask"


def random_case(seed, batch, heads, length, dim=3, dtype=torch.float32):
    """Keys, not contiguous, and a mask; one head keeps nothing, one everything."""
    g = torch.Generator().manual_seed(seed)
    keys = torch.randn(batch, length, heads, dim, generator=g).to(dtype).transpose(1, 2)
    kept = torch.rand(batch, heads, length, generator=g) < 0.4
    kept[0, 0], kept[-1, -1] = False, True
    return keys, kept


def packed(keys, kept):
    """Flat keys, positions and offsets, entry by entry."""
    flat, places, offsets = [], [], [0]
    for b in range(keys.shape[0]):
        for k in range(keys.shape[1]):
            for s in range(keys.shape[2]):
                if kept[b, k, s]:
                    flat.append(keys[b, k, s])
                    places.append(s)
            offsets.append(len(flat))
    places = torch.tensor(places, dtype=torch.int32)
    return torch.stack(flat), places, torch.tensor(offsets, dtype=torch.int32)


@check(points=2, likely="heads follow one another, each in order of time.")
def test_pack(answer):
    """Two sequences of three heads, one of them empty"""
    keys, kept = random_case(701, 2, 3, 7)
    want = packed(keys, kept)
    swapped = packed(keys.transpose(1, 2), kept.transpose(1, 2))[0]
    mistakes = {
        "the keys of all heads are mixed, in order of time": (swapped, *want[1:]),
        "there are counts in place of offsets": (
            *want[:2],
            torch.cat([want[2][:1], want[2].diff()]).int(),
        ),
    }
    got = answer.pack(keys, kept)
    expect_same(got, want, mistakes=mistakes, parts=PARTS)


@check(points=1, likely="keys keep their type; offsets and positions are int32.")
def test_types(answer):
    """Keys in bfloat16 and in float64, one sequence"""
    for dtype in (torch.bfloat16, torch.float64):
        keys, kept = random_case(702, 1, 2, 5, dtype=dtype)
        expect_same(answer.pack(keys, kept), packed(keys, kept), parts=PARTS)


@check(points=2, likely="an entry goes to its head and to its position.")
def test_unpack(answer):
    """Lists of heads with none, one, some and all of their keys"""
    for seed, batch, heads, length in ((703, 1, 4, 6), (704, 2, 2, 9)):
        keys, kept = random_case(seed, batch, heads, length)
        flat, places, offsets = packed(keys, kept)
        want_kept = kept.flatten(0, 1)
        want = keys.flatten(0, 1).clone()
        want[~want_kept] = 0
        got = answer.unpack(flat, places, offsets, length)
        expect_same(got, (want, want_kept), parts=UNPACKED)


@check(points=1, likely="what follows the last offset is room and belongs to no head.")
def test_room_at_the_end(answer):
    """Lists with room after the last entry"""
    keys, kept = random_case(705, 1, 3, 8, dtype=torch.float64)
    flat, places, offsets = packed(keys, kept)
    flat = torch.cat([flat, torch.full((4, 3), torch.nan, dtype=torch.float64)])
    places = torch.cat([places, torch.full((4,), 2_000_000, dtype=torch.int32)])
    want = keys[0].clone()
    want[~kept[0]] = 0
    got = answer.unpack(flat, places, offsets, 8)
    expect_same(got, (want, kept[0]), parts=UNPACKED)
