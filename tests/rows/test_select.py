"""Selectors against brute force, published facts and hand-made rows."""

import itertools

import numpy as np
import pytest
import torch
from scipy import optimize

from kvteach.rows import deployed, error, select
from kvteach.rows import pool as pool_rule


def rows(generator, count, length, width=5, sharp=1.5):
    for _ in range(count):
        p = (sharp * torch.randn(length, generator=generator).double()).softmax(0)
        yield p, torch.randn(length, width, generator=generator).double()


def errors_of_all_sets(p, v, size, pool):
    for chosen in itertools.combinations(pool, size):
        yield error.forced_error(p, v, error.mask_of(chosen, len(p))).item(), chosen


def test_published_pool_sizes():
    """arXiv 2608.25230, appendix B.2: 24, 12, 6 and 4 extras."""
    assert [pool_rule.published_extras(s) for s in (4, 8, 16, 32)] == [24, 12, 6, 4]
    assert pool_rule.published_extras(64) == 24


def test_pool_is_the_top_set_and_the_strongest_pulls(generator):
    for p, v in rows(generator, 5, 60):
        pool = pool_rule.published_pool(p, v, 8)
        assert set(pool[:8].tolist()) == set(p.argsort(descending=True)[:8].tolist())
        mu = (p[:, None] * v).sum(0)
        pull = [(p[j] * (v[j] - mu)).norm().item() for j in range(60)]
        outside = sorted(set(range(60)) - set(pool[:8].tolist()), key=lambda j: -pull[j])
        assert pool[8:].tolist() == outside[:12]


def test_balancing_ends_where_no_single_swap_helps(generator):
    for p, v in rows(generator, 10, 25):
        kept = select.balanced(p, 4, v=v)
        pool = set(pool_rule.published_pool(p, v, 4).tolist())
        reached = error.forced_error(p, v, kept).item()
        assert reached <= error.forced_error(p, v, select.top_mass(p, 4)).item()
        inside = set(kept.nonzero()[:, 0].tolist())
        assert inside <= pool
        for out, into in itertools.product(inside, pool - inside):
            swapped = error.mask_of(sorted(inside - {out} | {into}), 25)
            assert error.forced_error(p, v, swapped).item() >= reached * (1 - 1e-9)


def test_balancing_never_beats_the_best_set_of_its_pool(generator):
    ratios = []
    for p, v in rows(generator, 8, 12):
        pool = pool_rule.published_pool(p, v, 4)
        least, _ = min(errors_of_all_sets(p, v, 4, pool.tolist()))
        ratios.append(error.forced_error(p, v, select.balanced(p, 4, v=v)).item() / least)
    assert min(ratios) >= 1 - 1e-9
    assert np.median(ratios) == pytest.approx(1, abs=1e-9)  # published median, exactly 1


def test_greedy_takes_the_best_next_key(generator):
    for p, v in rows(generator, 5, 15):
        kept = []
        for _ in range(3):
            rest = [j for j in range(15) if j not in kept]
            kept.append(
                min(
                    rest,
                    key=lambda j: error.forced_error(
                        p, v, error.mask_of([*kept, j], 15)
                    ).item(),
                )
            )
        assert select.greedy(p, 3, v=v).nonzero()[:, 0].tolist() == sorted(kept)


def distance_to_hull(v, mu):
    """Nearest point of the convex hull, by scipy's non-negative least squares."""
    heavy = 1e4  # row that asks the weights to sum to 1
    a = np.vstack([v.T.numpy(), heavy * np.ones(len(v))])
    weights, _ = optimize.nnls(a, np.append(mu.numpy(), heavy))
    return float(np.linalg.norm(weights / weights.sum() @ v.numpy() - mu.numpy()))


@pytest.mark.parametrize("corrective", [False, True])
def test_frank_wolfe_reports_an_error_its_support_can_reach(generator, corrective):
    for p, v in rows(generator, 8, 30):
        support, reached = select.free_support(p, v, 4, corrective)
        mu = (p[:, None] * v).sum(0)
        assert 1 <= int(support.sum()) <= 4
        least = distance_to_hull(v[support], mu)
        assert reached.item() >= least * (1 - 1e-6) - 1e-9
        if corrective:  # it re-solves all weights, so it reaches the hull's distance
            assert reached.item() == pytest.approx(least, rel=1e-4, abs=1e-7)


def test_corrective_frank_wolfe_reaches_mu_with_enough_vertices(generator):
    """Caratheodory: D + 1 values suffice; 30 vertices in 5 dimensions surely do."""
    p, v = next(rows(generator, 1, 30))
    _, reached = select.free_support(p, v, 30, corrective=True)
    assert reached.item() < 1e-6


def test_leverage_of_orthogonal_keys_is_their_length(generator):
    p = torch.full((6,), 1 / 6)
    k = torch.eye(6) * torch.tensor([1.0, 9, 2, 8, 3, 7])
    assert select.leverage(p, 3, k=k).tolist() == [False, True, False, True, False, True]
    assert torch.equal(select.leverage(p, 3, k=k), select.leverage(p, 3, k=1000 * k))


def test_group_vote_with_one_head_is_top_mass(generator):
    for p, _ in rows(generator, 4, 20):
        assert torch.equal(select.group_vote(p, 7, group_p=p[None]), select.top_mass(p, 7))


def test_group_vote_adds_weights_not_ranks():
    p = torch.tensor([0.6, 0.4, 0.0])
    other = torch.tensor([0.0, 0.3, 0.7])
    kept = select.group_vote(p, 2, group_p=torch.stack([p, other]))
    assert kept.tolist() == [False, True, True]


@pytest.mark.parametrize("name", [*select.RULES])
def test_every_rule_keeps_the_number_asked_for(name, generator):
    rule = select.RULES[name]
    for (p, v), size in zip(rows(generator, 3, 40), (1, 8, 40), strict=True):
        group = torch.stack([p, p.roll(1)])
        kept = rule(p, size, v=v, k=v, group_p=group)
        assert kept.dtype == torch.bool and int(kept.sum()) == size
    with pytest.raises(ValueError, match="size: 41 is outside"):
        rule(p, 41, v=v, k=v, group_p=group)


@pytest.mark.parametrize("name", ["balanced", "greedy", "frank-wolfe", "leverage", "group-vote"])
def test_rules_for_one_row_refuse_a_batch(name):
    p, v = torch.full((2, 4), 0.25), torch.ones(2, 4, 3)
    with pytest.raises(ValueError, match="takes one row"):
        select.RULES[name](p, 2, v=v, k=v, group_p=p)
    with pytest.raises(ValueError, match=r"group_p: shape \(1, 4\); need \[R, 3\]"):
        select.group_vote(torch.full((3,), 1 / 3), 2, group_p=p[:1])


def test_streaming_keeps_sinks_and_the_recent():
    p = torch.full((20,), 0.05)
    assert deployed.streaming(p, 6).nonzero()[:, 0].tolist() == [0, 1, 2, 17, 18, 19]
    assert deployed.streaming(p, 10).nonzero()[:, 0].tolist() == [0, 1, 2, 3, *range(14, 20)]


def test_h2o_splits_between_received_mass_and_recency():
    past = torch.zeros(3, 8)
    past[:, 1], past[:, 4], past[2, 7] = 0.5, 0.4, 0.1
    kept = deployed.h2o(past[2], 4, past_p=past)
    assert kept.nonzero()[:, 0].tolist() == [1, 4, 6, 7]


def test_snapkv_pools_neighbours_of_what_the_window_reads():
    past = torch.full((4, 30), 0.0)
    past[:, 12] = 1.0
    past[0, 12], past[0, 20] = 0.0, 1.0  # outside a window of 3
    kept = deployed.snapkv(past[3], 7, past_p=past)
    assert kept.nonzero()[:, 0].tolist() == [9, 10, 11, 12, 27, 28, 29]
    with pytest.raises(ValueError, match="past_p: 2 rows"):
        deployed.snapkv(past[3], 7, past_p=past[:2])


def test_quest_bounds_a_page_by_its_extremes():
    k = torch.zeros(8, 2).double()
    k[1], k[0] = torch.tensor([3.0, 0.0]), torch.tensor([0.0, 3.0])  # bound 6, no key has it
    k[5] = torch.tensor([2.0, 2.0])  # a single key of 4
    q = torch.ones(2).double()
    p = (k @ q).softmax(0)
    assert deployed.quest(p, 2, q=q, k=k).nonzero()[:, 0].tolist() == [0, 1]
    assert deployed.quest(p, 4, q=q, k=k).nonzero()[:, 0].tolist() == [0, 1, 4, 5]
