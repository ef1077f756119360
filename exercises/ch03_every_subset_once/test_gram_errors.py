"""Checks of ch03/gram_errors."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=2,
    title="Errors without the values",
    difficulty=2,
    minutes=20,
    hints=(
        "Write the squared length of a sum of two vectors with inner products. Which "
        "four numbers do you need, and where are they in the matrix?",
        "The error behind W is the length of W times a sum, which is the sum of the "
        "W Gamma_j. Of X G X' only the diagonal is wanted: how do you get it alone?",
        "((x @ G) * x).sum(1) with x = kept_ns as float64; clamp_min(0) before the "
        "square root; then divide by x @ p.",
    ),
)

ROUNDING = 1e-12
"""float64 sums of some hundred terms of order 1 round to about 1e-14."""
ROOT = 1e-7
"""Where the error is 0, x'Gx is about 1e-16, and the root of that 1e-8."""


def random_row(seed, keys, dim):
    """A peaked row whose values are not centred and not contiguous."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(2 * torch.randn(keys, generator=generator).double(), -1)
    return p, 3 + torch.randn(dim, keys, generator=generator).double().T


def error_by_definition(p, v, kept, through=None):
    """||W (mu - m_A)|| from the outputs themselves."""
    keys = range(len(p))
    mass = sum(p[j] for j in keys if kept[j])
    m_A = sum(p[j] * v[j] for j in keys if kept[j]) / mass
    off = sum(p[j] * v[j] for j in keys) - m_A
    return (off if through is None else through @ off).norm()


def sets_of(keys, sizes):
    """Masks of all subsets whose size is in ``sizes``."""
    masks = [[bool(code >> j & 1) for j in range(keys)] for code in range(2**keys)]
    return torch.tensor([mask for mask in masks if sum(mask) in sizes])


def by_pairs(vectors):
    """Inner products, one by one."""
    return torch.stack([torch.stack([a @ b for b in vectors]) for a in vectors])


@check(points=1, likely="the deviations are p_j (v_j - mu), with mu the weighted mean.")
def test_gram(answer):
    """The matrix by hand, and of a random row"""
    p = torch.tensor([0.45, 0.45, 0.10], dtype=torch.float64)
    v = torch.tensor([[-1.0], [1.0], [5.0]], dtype=torch.float64)
    gamma = torch.tensor([[-0.675], [0.225], [0.45]], dtype=torch.float64)  # mu = 0.5
    mistakes = {
        "the plain mean of the values is subtracted": by_pairs(
            p[:, None] * (v - v.mean(0))
        ),
        "the deviations are not weighted": by_pairs(v - 0.5),
        "mu is not subtracted": by_pairs(p[:, None] * v),
    }
    got = answer.gram(p, v)
    expect_same(got, by_pairs(gamma), tolerance=ROUNDING, mistakes=mistakes)
    p, v = random_row(302, keys=7, dim=5)
    want = by_pairs([p[j] * (v[j] - p @ v) for j in range(7)])
    expect_same(answer.gram(p, v), want, tolerance=ROUNDING)


@check(points=2, likely="the square root, or the division by p(A), is missing.")
def test_errors(answer):
    """The errors of all sets of three, five and eight keys out of nine"""
    p, v = random_row(303, keys=9, dim=5)
    G = by_pairs([p[j] * (v[j] - p @ v) for j in range(9)])
    kept = sets_of(9, (3, 5, 8))
    want = torch.stack([error_by_definition(p, v, mask) for mask in kept])
    mass = (kept * p).sum(-1)
    mistakes = {
        "the division by p(A) is missing": want * mass,
        "the squared error is returned": want**2,
        "the sum is divided by p(A) before the root": want * mass.sqrt(),
    }
    got = answer.gram_errors(G, p, kept)
    expect_same(got, want, tolerance=ROUNDING, mistakes=mistakes)


@check(points=2, likely="W acts on each deviation: W Gamma_j, on the side of D.")
def test_through_a_projection(answer):
    """Errors behind a projection, to fewer and to more dimensions"""
    p, v = random_row(304, keys=8, dim=4)
    kept = sets_of(8, (4,))
    for rows in (3, 9):
        generator = torch.Generator().manual_seed(rows)
        W = torch.randn(4, rows, generator=generator).double().T
        G = by_pairs([W @ (p[j] * (v[j] - p @ v)) for j in range(8)])
        expect_same(answer.gram(p, v, through=W), G, tolerance=ROUNDING)
        want = torch.stack([error_by_definition(p, v, mask, W) for mask in kept])
        expect_same(answer.gram_errors(G, p, kept), want, tolerance=ROUNDING)


@check(points=1, likely="rounding leaves x'Gx below 0, and its root is no number.")
def test_no_error(answer):
    """Sets without error: all keys of a row, and values that cancel"""
    for seed in range(305, 311):
        p, v = random_row(seed, keys=12, dim=5)
        gamma = p[:, None] * (v - p @ v)
        kept = torch.ones(1, 12, dtype=torch.bool)
        want = torch.zeros(1, dtype=torch.float64)
        got = answer.gram_errors(gamma @ gamma.T, p, kept)
        expect_same(got, want, tolerance=ROOT)


@check(points=1, likely="a matrix [N, N] is built, of which the diagonal is wanted.")
def test_many_sets(answer):
    """A hundred thousand sets: an [N, N] matrix would not fit"""
    p, v = random_row(312, keys=40, dim=64)
    gamma = p[:, None] * (v - p @ v)
    generator = torch.Generator().manual_seed(313)
    kept = torch.rand(100_000, 40, generator=generator) < 0.3
    kept[:, 0] = True
    outputs = (kept.double() @ (p[:, None] * v)) / (kept.double() @ p)[:, None]
    want = (p @ v - outputs).norm(dim=-1)
    got = answer.gram_errors(gamma @ gamma.T, p, kept)
    expect_same(got, want, tolerance=ROUNDING)
