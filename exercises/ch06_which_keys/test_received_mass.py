"""Checks of ch06/received_mass."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="Column sums without the matrix",
    difficulty=2,
    minutes=25,
    hints=(
        "Which numbers of the attention matrix do you need at the same time to know one "
        "column's sum? And to know one row's softmax?",
        "A row's softmax needs the whole row, a column's sum can be carried from tile to "
        "tile. Row t of a tile stands at position first + t.",
        "masked_fill(arange(S) > arange(first, first + T)[:, None], -inf), softmax(-1), "
        "sum(1), plus the old mass; at the end view(K, R, S).mean(1).",
    ),
)

SUMS = 1e-11
"""Float64 sums of up to 3,000 weights: 1e-13 of the result."""


def states(seed, heads=4, kv_heads=2, length=50, dim=8):
    """Random queries and keys."""
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(count, length, dim, generator=generator, dtype=torch.float64)
        for count in (heads, kv_heads)
    ]


def by_rows(queries, keys, scaling, rows=None, causal=True, group=None):
    """The definition, one row after the other: [H, S]."""
    heads, length, _ = queries.shape
    size = heads // len(keys)
    group = group or (lambda h: h // size)
    mass = torch.zeros(heads, length, dtype=torch.float64)
    for h in range(heads):
        for i in range(length) if rows is None else rows:
            seen = i + 1 if causal else length
            logits = keys[group(h), :seen] @ queries[h, i] * scaling
            mass[h, :seen] += logits.softmax(0)
    return mass


@check(points=2, likely="row t of the tile is row first + t of the text.")
def test_add_rows(answer):
    """A tile in the middle, one at the start, one row at the end"""
    queries, keys = states(611)
    before = states(612, heads=4, dim=50)[0][:, 0].abs()
    for first, last in ((20, 33), (0, 5), (49, 50)):
        tile = queries[:, first:last]
        added = by_rows(queries, keys, 0.5, range(first, last))
        mistakes = {
            "rows see later keys": before
            + by_rows(queries, keys, 0.5, range(first, last), causal=False),
            "the scaling is left out": before
            + by_rows(queries, keys, 1.0, range(first, last)),
            "head h reads key-value head h % K": before
            + by_rows(queries, keys, 0.5, range(first, last), group=lambda h: h % 2),
            "the old mass is forgotten": added,
        }
        want = before + added
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        got = answer.add_rows(before, tile, keys, first, 0.5)
        expect_same(got, want, tolerance=SUMS, mistakes=mistakes)


@check(points=2, likely="the last tile is shorter; the mean is over the group's heads.")
def test_all_rows(answer):
    """Whole texts in tiles of many sizes, and groups of heads"""
    for seed, heads, kv_heads, length, tiles in (
        (613, 1, 1, 7, (1, 3, 9)), (614, 4, 2, 50, (16, 25)), (615, 6, 2, 40, (7,)),
    ):  # fmt: skip
        queries, keys = states(seed, heads, kv_heads, length)
        each = by_rows(queries, keys, 0.4)
        want = each.view(kv_heads, -1, length).mean(1)
        mistakes = {
            "the heads of a group are summed": want * (heads // kv_heads),
            "the heads of a group are h, h + K, ...": each.view(-1, kv_heads, length).mean(0),
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.allclose(x, want)}
        for tile in tiles:
            got = answer.received_mass(queries, keys, 0.4, tile)
            name = f"the mass, in tiles of {tile}"
            expect_same(got, want, tolerance=SUMS, mistakes=mistakes, name=name)


@check(points=1, likely="rows of a later tile see all keys before them.")
def test_long_text(answer):
    """3,000 tokens of equal logits: differences of harmonic numbers"""
    length = 3000
    queries = torch.zeros(2, length, 2, dtype=torch.float64)
    keys = torch.ones(1, length, 2, dtype=torch.float64)
    # Row i gives 1 / (i + 1) to each of its keys.
    share = 1 / torch.arange(1, length + 1, dtype=torch.float64)
    want = share.flip(0).cumsum(0).flip(0)[None]
    expect_same(answer.received_mass(queries, keys, 1.0, 256), want, tolerance=SUMS)


@check(points=1, likely="key j is seen by rows j .. S - 1.")
def test_mean_received(answer):
    """Means over the rows that see a key"""
    length = 9
    share = 1 / torch.arange(1, length + 1, dtype=torch.float64)
    mass = share.flip(0).cumsum(0).flip(0).expand(3, -1)
    counts = torch.tensor([9, 8, 7, 6, 5, 4, 3, 2, 1], dtype=torch.float64)
    mistakes = {
        "every key is divided by S": mass / length,
        "key j is divided by j + 1": mass / counts.flip(0),
    }
    got = answer.mean_received(mass.clone())
    expect_same(got, mass / counts, tolerance=SUMS, mistakes=mistakes)


@check(points=2, likely="a recent key that is heavy as well counts once.")
def test_heaviest_and_recent(answer):
    """Half recent, half heavy, with many equal masses"""
    generator = torch.Generator().manual_seed(614)
    for levels, budget in ((3, 11), (1000, 12), (1000, 1), (5, 0), (5, 40)):
        mass = torch.randint(levels, (2, 40), generator=generator).double()
        mass[:, -3:] = 2000.0  # the latest are the heaviest
        want = torch.zeros(2, 40, dtype=torch.bool)
        alone, doubled = want.clone(), want.clone()
        start = 40 - budget // 2
        for k, row in enumerate(mass.tolist()):
            order = sorted(range(40), key=lambda j: (-row[j], j))
            alone[k, order[:budget]] = True
            doubled[k, order[: budget - budget // 2]] = True
            doubled[k, start:] = True
            early = [j for j in order if j < start]
            want[k, early[: budget - budget // 2]] = True
            want[k, start:] = True
        mistakes = {
            "recency is left out": alone,
            "keys that are recent and heavy fill two places": doubled,
        }
        mistakes = {k: x for k, x in mistakes.items() if not torch.equal(x, want)}
        got = answer.heaviest_and_recent(mass, budget)
        expect_same(got, want, mistakes=mistakes, name=f"the set of {budget} keys")
