"""Both engines and the certificates on hundreds of random and of real rows."""

import itertools

import numpy as np
import pytest
import torch

from kvteach import capture
from kvteach.rows import certify, deployed, error, exact, select

POOL, SIZES = 13, (1, 2, 4, 6)
VARIANTS = list(itertools.product(SIZES, (None, 0.9), (False, True)))
SETS = {s: np.array(list(itertools.combinations(range(POOL), s))) for s in SIZES}


@pytest.fixture(scope="module")
def real_rows(bundled, speech):
    """540 rows: every head of the bundled model at two positions."""
    return list(capture.rows(bundled.model, speech[:256], positions=[150, 255]))


def random_rows(count):
    rng = np.random.default_rng(11)
    for number in range(count):
        logits = rng.normal(size=40) * (0.2, 1.0, 3.0)[number % 3]
        v = rng.normal(size=(40, 16)) + rng.normal(size=16)
        yield torch.tensor(logits).softmax(0), torch.tensor(v)


def brute_force(p, v, pool, size, floor, through):
    """Least error over all sets of the pool, from the definition in NumPy."""
    p, v, pool = p.numpy(), v.numpy(), np.sort(pool.numpy())
    sets = pool[SETS[size]]
    mass = p[sets].sum(1)
    forced = np.einsum("ks,ksd->kd", p[sets], v[sets]) / mass[:, None]
    wrong = (p @ v - forced) @ (np.eye(v.shape[1]) if through is None else through.T)
    errors = np.linalg.norm(wrong, axis=1)
    if floor is not None:
        top = np.sort(p)[-size:].sum()
        errors[mass < floor * top * (1 - 1e-12)] = np.inf
    return errors.min()


def check(rows):
    """Every row in one of the sixteen variants, both engines."""
    projection = np.random.default_rng(12).normal(size=(24, 64))
    for number, (p, v) in enumerate(rows):
        size, floor, projected = VARIANTS[number % len(VARIANTS)]
        through = projection[:, : v.shape[1]] if projected else None
        pool = exact.published_pool(p, v, size, extras=POOL - size)
        least = brute_force(p, v, pool, size, floor, through)
        longest = v.norm(dim=1).max().item() * (1 if through is None else 20)
        for engine in exact.ENGINES:
            found = exact.best_subset(
                p, v, size, pool=pool, floor=floor, through=through, engine=engine
            )
            # 1e-9 as promised; below 1e-14 of the values, mu itself is not known
            assert found.error.item() == pytest.approx(least, rel=1e-9, abs=1e-14 * longest)


def test_five_hundred_random_rows():
    check(random_rows(500))


def test_five_hundred_real_rows(real_rows):
    check((row.p, row.v) for row in real_rows)


@pytest.mark.parametrize("floor", [None, 0.9])
def test_no_selector_contradicts_a_certificate(real_rows, floor):
    size = 8
    for row in real_rows[::9]:
        proof = certify.certify(row.p, row.v, size, floor=floor, time_limit=0.1)
        heaviest = row.p.sort(descending=True).values[:size].sum()
        past = row.p[None].expand(4, -1)  # a stand-in history; any set will do
        evidence = {"v": row.v, "k": row.k, "q": row.q, "group_p": past, "past_p": past}
        for rule in (*select.RULES.values(), *deployed.RULES.values()):
            kept = rule(row.p, size, **evidence)
            if floor is None or row.p[kept].sum() >= floor * heaviest:
                reached = error.forced_error(row.p, row.v, kept).item()
                assert reached >= proof.lower * (1 - 1e-9)
        mask = error.mask_of(proof.indices, len(row.p))
        assert error.forced_error(row.p, row.v, mask).item() == pytest.approx(proof.upper)
        assert proof.lower <= proof.upper
