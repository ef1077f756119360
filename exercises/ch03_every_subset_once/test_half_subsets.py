"""Checks of ch03/half_subsets."""

import itertools

import torch

from kvteach.grading.checks import Exercise, check, expect, expect_same

EXERCISE = Exercise(
    number=5,
    title="All subsets as matrix products",
    difficulty=3,
    minutes=45,
    hints=(
        "A menu has ten starters and ten mains. How many numbers must you know to "
        "tell the price of all hundred meals? And what if some pairs get a discount?",
        "One entry of a product of two matrices is a row times a column: a sum of "
        "products. Which products give l' H_LL l, if the column may hold a 1?",
        "rows = [2 l' H_LR, l' H_LL l, 1], columns = [r, 1, r' H_RR r]; then pair "
        "group(n // 2, k) with group(n - n // 2, size - k) for all k that exist.",
    ),
)

ROUNDING = 1e-11
"""float64 sums of some hundred products of order 1 round to about 1e-14."""
PARTS = "value", "indices"


def symmetric(seed, n):
    """A symmetric matrix with eigenvalues of both signs."""
    generator = torch.Generator().manual_seed(seed)
    H = torch.randn(n, n, generator=generator).double()
    return H + H.T


def form(H, x):
    """x' H x, entry by entry."""
    n = range(len(x))
    return sum(H[i, j] * x[i] * x[j] for i in n for j in n)


def by_trying(H, size):
    """The least x' H x over all subsets, one by one."""
    sets = itertools.combinations(range(len(H)), size)
    return min((H[list(s)][:, list(s)].sum().item(), s) for s in sets)


def is_matrix(x):
    """Whether an answer is a tensor with rows and columns."""
    return type(x) is torch.Tensor and x.ndim == 2


@check(points=1, likely="a subset is missing, comes twice or has another size.")
def test_group(answer):
    """All subsets of one size, each once"""
    for n, k in ((4, 2), (5, 4), (3, 0), (3, 3), (6, 3)):
        got, name = answer.group(n, k), f"group({n}, {k})"
        sets = itertools.combinations(range(n), k)
        want = [[float(j in s) for j in range(n)] for s in sets]
        expect(is_matrix(got), f"{name} must be a tensor of two dimensions")
        want = torch.tensor(sorted(want), dtype=torch.float64)
        rows = torch.tensor(sorted(got.tolist()), dtype=got.dtype)
        expect_same(rows, want, name=f"{name}, its rows sorted,")


@check(
    points=2, likely="the two parts alone, or the factor 2 between them, are missing."
)
def test_all_pairs(answer):
    """The product of rows and columns, entry by entry"""
    generator = torch.Generator().manual_seed(339)
    for a, b, N, M in ((3, 4, 5, 6), (4, 3, 1, 7), (1, 5, 2, 3)):
        H = symmetric(a, a + b)
        left = (torch.rand(N, a, generator=generator) < 0.5).double()
        right = (torch.rand(b, M, generator=generator) < 0.5).double().T
        got = answer.rows_and_columns(H, left, right)
        matrices = type(got) is tuple and len(got) == 2 and all(map(is_matrix, got))
        expect(matrices, "the result must be two matrices, rows and columns")
        rows, columns = got
        width = rows.shape[1], columns.shape[1]
        expect(width[0] == width[1], f"the two are {width[0]} and {width[1]} wide")
        expect(width[0] <= b + 2, f"{width[0]} is too wide; {b + 2} is enough")
        x = [[torch.cat([one, other]) for other in right] for one in left]
        want = torch.tensor([[form(H, y) for y in line] for line in x])
        cross = torch.tensor(
            [[(one @ H[:a, a:] @ other).item() for other in right] for one in left]
        ).double()
        mistakes = {
            "the product of the halves is counted once, not twice": want - cross,
            "the halves alone are left out": 2 * cross,
        }
        name = "rows @ columns.T"
        got = rows @ columns.T
        expect_same(
            got, want.double(), tolerance=ROUNDING, mistakes=mistakes, name=name
        )


@check(points=2, likely="some pair of halves whose sizes add up is left out.")
def test_every_size(answer):
    """The least value for every size, of even and odd pools"""
    for n in (1, 2, 6, 9):
        for seed in (340, 341):
            H = symmetric(seed, n)
            for size in range(1, n + 1):
                got = answer.lowest(H, size)
                want, name = by_trying(H, size), f"lowest of {n} keys, size {size}"
                expect_same(got, want, tolerance=ROUNDING, name=name, parts=PARTS)


@check(points=2, likely="the halves of the best subset are of unequal size.")
def test_planted(answer):
    """Twelve of 24 keys, 2.7 million subsets, one of which cancels"""
    for seed, on_the_left in ((342, 6), (343, 2), (344, 11)):
        generator = torch.Generator().manual_seed(seed)
        left = torch.randperm(12, generator=generator)[:on_the_left]
        right = 12 + torch.randperm(12, generator=generator)[: 12 - on_the_left]
        planted = sorted(torch.cat([left, right]).tolist())
        # No sum of 12 vectors can be shorter than 0, and only these sum to 0.
        gamma = torch.randn(24, 16, generator=generator).double()
        gamma[planted[-1]] -= gamma[planted].sum(0)
        got, want = answer.lowest(gamma @ gamma.T, 12), (0.0, tuple(planted))
        name = f"the result of row {seed}"
        expect_same(got, want, tolerance=ROUNDING, name=name, parts=PARTS)
