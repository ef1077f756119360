"""Checks of ch02/phi."""

import torch

from kvteach.grading.checks import Exercise, check, expect_same

EXERCISE = Exercise(
    number=5,
    title="Many errors from one pass",
    difficulty=3,
    minutes=20,
    hints=(
        "Add up Gamma_j over all keys of a small row. Why is the sum what it is?",
        "Write sum_{j in A} p_j (v_j - mu) with p(A) and m_A. The sum over a set is a "
        "product with its mask, and many masks make a matrix.",
        "errors: kept_ns as float64 times gamma_sd is [N, D]; its row lengths divided "
        "by kept_ns @ p. phi: a stable descending argsort, and no division.",
    ),
)

ROUNDING = 1e-12
"""float64 sums of at most 64 terms of order 1 round to about 1e-15."""


def random_row(seed, keys, dim):
    """A peaked row whose values are not centred and not contiguous."""
    generator = torch.Generator().manual_seed(seed)
    p = torch.softmax(2 * torch.randn(keys, generator=generator).double(), -1)
    v = 3 + torch.randn(dim, keys, generator=generator).double().T
    return p, v


def error_by_definition(p, v, kept):
    """||mu - m_A|| from the outputs themselves."""
    keys = range(len(p))
    mu = sum(p[j] * v[j] for j in keys)
    mass = sum(p[j] for j in keys if kept[j])
    return (mu - sum(p[j] * v[j] for j in keys if kept[j]) / mass).norm()


@check(points=1, likely="the weighted mean is subtracted, not the plain one.")
def test_deviations(answer):
    """Each key's deviation, and their sum"""
    p = torch.tensor([0.45, 0.45, 0.10], dtype=torch.float64)
    v = torch.tensor([[-1.0], [1.0], [5.0]], dtype=torch.float64)
    want = torch.tensor([[-0.675], [0.225], [0.45]], dtype=torch.float64)  # mu = 0.5
    mistakes = {
        "the plain mean of the values is subtracted": p[:, None] * (v - v.mean(0)),
        "the deviations are not weighted": v - 0.5,
    }
    expect_same(answer.deviations(p, v), want, tolerance=ROUNDING, mistakes=mistakes)
    p, v = random_row(207, keys=11, dim=5)
    mu = sum(p[j] * v[j] for j in range(11))
    want = torch.stack([p[j] * (v[j] - mu) for j in range(11)])
    expect_same(answer.deviations(p, v), want, tolerance=ROUNDING)


@check(points=2, likely="the summed deviations are p(A) (m_A - mu): divide by p(A).")
def test_errors_of_every_set(answer):
    """The errors of all 126 sets of four keys out of nine, and of larger ones"""
    p, v = random_row(208, keys=9, dim=5)
    gamma = torch.stack([p[j] * (v[j] - p @ v) for j in range(9)])
    masks = [[bool(code >> j & 1) for j in range(9)] for code in range(1, 512)]
    kept = torch.tensor([m for m in masks if sum(m) in (4, 7, 9)])
    want = torch.stack([error_by_definition(p, v, mask) for mask in kept])
    mass = (kept * p).sum(-1)
    mistakes = {
        "the division by p(A) is missing": want * mass,
        "the division is by the dropped mass": want
        * mass
        / (1 - mass).clamp_min(1e-300),
    }
    expect_same(
        answer.errors(p, gamma, kept), want, tolerance=ROUNDING, mistakes=mistakes
    )


@check(points=1, likely="the [N, S, D] tensor of all kept deviations is built.")
def test_errors_of_many_sets(answer):
    """Two hundred thousand sets: a matrix product fits, a tensor [N, S, D] does not"""
    p, v = random_row(209, keys=48, dim=64)
    gamma = p[:, None] * (v - p @ v)
    generator = torch.Generator().manual_seed(210)
    kept = torch.rand(200_000, 48, generator=generator) < 0.3
    kept[:, 0] = True
    outputs = (kept.double() @ (p[:, None] * v)) / (kept.double() @ p)[:, None]
    want = (p @ v - outputs).norm(dim=-1)
    expect_same(answer.errors(p, gamma, kept), want, tolerance=ROUNDING)


@check(points=2, likely="Phi is p(A) times the error of the top-mass set, undivided.")
def test_phi(answer):
    """Phi of the top-mass set, with equal weights taken in order of position"""
    p = torch.tensor([0.45, 0.45, 0.10], dtype=torch.float64)
    v = torch.tensor([[-1.0], [1.0], [5.0]], dtype=torch.float64)
    want = torch.tensor(0.45, dtype=torch.float64)  # p(A) = 0.9 times error 1/2
    mistakes = {"the sum is divided by p(A): that is the error itself": want / 0.9}
    expect_same(answer.phi(p, v, 2), want, tolerance=ROUNDING, mistakes=mistakes)
    for size in (1, 3, 6):
        p, v = random_row(211 + size, keys=40, dim=5)
        p = (p * 8).ceil() / (p * 8).ceil().sum()  # many equal weights
        top = sorted(range(40), key=lambda j: (-p[j].item(), j))[:size]
        want = sum(p[j] * (v[j] - p @ v) for j in top).norm()
        got = answer.phi(p, v, size)
        expect_same(got, want, tolerance=ROUNDING, name=f"Phi of size {size}")
