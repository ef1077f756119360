"""Rules that choose which keys of one row stay.

One signature: ``rule(p, size, *, v, k, group_p)`` returns a boolean mask [S] with
``size`` keys kept. A rule takes of the named evidence what it needs and lets the
rest pass, so that all of them can be called alike (`RULES`):

    p        [S]     weights of the row
    v        [S, D]  values
    k        [S, D]  keys after rotary embedding
    group_p  [R, S]  weights of all query heads that share this key-value head

Ties go to the earlier position everywhere. Definitions and published figures:
"Trust the Mass" (arXiv 2608.25230), sections 2.1 and appendix B.
"""

import torch

from kvteach.rows.error import as_row, deviations, mask_of
from kvteach.rows.pool import published_pool


def top_mass(p, size, **_):
    """The ``size`` largest weights of each row: the least dropped mass possible.

    p: [..., S]; returns a boolean mask [..., S]. Cost O(S log S) per row. Raises
    ValueError for a size outside 1 .. S.
    """
    p, _ = as_row(p)
    return _largest(p, size)


def balanced(p, size, *, v, pool=None, **_):
    """Balancing: swap one key in and one out while that lowers the error most.

    Starts at the top-mass set. Entrants come from ``pool``, by default
    `published_pool`. It reads mu, so it is a measuring device and no deployable
    rule. Cost per round: size * (pool - size) pairs of O(D).
    """
    p, v = _one_row(p, v)
    kept = _largest(p, size)
    pool = published_pool(p, v, size) if pool is None else torch.as_tensor(pool)
    gamma = deviations(p, v)
    while True:
        g, mass = gamma[kept].sum(0), p[kept].sum()
        inside, outside = kept.nonzero()[:, 0], pool[~kept[pool]]
        if not len(outside):
            return kept
        swapped = g - gamma[inside, None] + gamma[None, outside]
        masses = mass - p[inside, None] + p[None, outside]
        errors = swapped.norm(dim=-1) / masses.clamp_min(1e-300)
        best = errors.argmin()
        # A relative gain below rounding would let two swaps chase each other.
        if errors.flatten()[best] >= (g.norm() / mass) * (1 - 1e-12):
            return kept
        leaves, enters = divmod(int(best), len(outside))
        kept[inside[leaves]], kept[outside[enters]] = False, True


def greedy(p, size, *, v, **_):
    """Add the key that leaves the least error, ``size`` times. Cost O(size S D).

    The error is neither sub- nor supermodular, so nothing bounds its distance
    from the best set.
    """
    p, v = _one_row(p, v)
    _require_size(size, len(p))
    gamma, kept = deviations(p, v), torch.zeros(len(p), dtype=torch.bool)
    g, mass = torch.zeros_like(gamma[0]), torch.zeros_like(p[0])
    for _ in range(size):
        errors = (g + gamma).norm(dim=-1) / (mass + p).clamp_min(1e-300)
        chosen = errors.masked_fill(kept, torch.inf).argmin()
        kept[chosen] = True
        g, mass = g + gamma[chosen], mass + p[chosen]
    return kept


def frank_wolfe(p, size, *, v, corrective=False, **_):
    """Support of a Frank-Wolfe minimiser of the free error, padded by top-mass keys.

    The free error lets the kept weights vary: the distance from mu to the convex
    hull of the kept values. Starts at the value nearest to mu and stops before
    the support exceeds ``size``. ``corrective`` solves for all weights again
    after each new vertex. Step rule, start and stop are unpublished; these are
    the textbook ones.
    """
    p, v = _one_row(p, v)
    _require_size(size, len(p))
    kept, _ = free_support(p, v, size, corrective)
    return kept | _largest(p.masked_fill(kept, -1), size - int(kept.sum()), legal_from=0)


def free_support(p, v, size, corrective=False, rounds=1000):
    """(support mask [S], free error of it) by Frank-Wolfe with at most ``size`` vertices."""
    mu = torch.einsum("s,sd->d", p, v)
    weights = torch.zeros_like(p)
    weights[(v - mu).norm(dim=-1).argmin()] = 1
    for _ in range(rounds):
        x = weights @ v
        gap = (v @ (mu - x)) - x @ (mu - x)
        vertex = int(gap.argmax())
        if gap[vertex] <= 1e-14 * (1 + mu.norm()) or (
            weights[vertex] == 0 and int((weights > 0).sum()) == size
        ):
            break
        if corrective:
            support = (weights > 0).index_fill(0, torch.tensor(vertex), True)
            weights = _project(v[support], mu, support, weights)
        else:
            step = v[vertex] - x
            length = step.square().sum().clamp_min(1e-300)
            fraction = float(((mu - x) @ step / length).clamp(0, 1))
            weights = weights * (1 - fraction)
            weights[vertex] += fraction
    return weights > 0, (weights @ v - mu).norm()


def leverage(p, size, *, k, ridge=1e-2, **_):
    """The ``size`` largest ridge leverages k_j' (K'K + lambda I)^-1 k_j.

    lambda = ridge * trace(K'K) / D; the published value is unknown, this one is
    free of scale and gives figures close to the published ones. Cost O(S D^2).
    """
    p, k = _one_row(p, k)
    gram = k.T @ k
    damping = ridge * gram.trace() / k.shape[1]
    inverse = torch.linalg.inv(gram + damping * torch.eye(k.shape[1], dtype=k.dtype))
    return _largest(torch.einsum("sd,de,se->s", k, inverse, k), size)


def group_vote(p, size, *, group_p, **_):
    """The ``size`` keys with the largest weight summed over the heads of the group."""
    p, _ = _one_row(p)
    group_p, _ = as_row(group_p)
    if group_p.ndim != 2 or group_p.shape[1] != len(p):
        raise ValueError(f"group_p: shape {tuple(group_p.shape)}; need [R, {len(p)}]")
    return _largest(group_p.sum(0), size)


RULES = {
    "top-mass": top_mass,
    "balanced": balanced,
    "greedy": greedy,
    "frank-wolfe": frank_wolfe,
    "leverage": leverage,
    "group-vote": group_vote,
}


def _one_row(p, v=None):
    """The row in float64, or ValueError for a batch: these rules take one row."""
    p, v = as_row(p, v)
    if p.ndim != 1 or (v is not None and v.ndim != 2):
        raise ValueError(f"p: shape {tuple(p.shape)}; this rule takes one row, [S]")
    return p, v


def _largest(score, size, legal_from=1):
    """Mask of the ``size`` largest entries of the last axis, ties to the earlier."""
    _require_size(size, score.shape[-1], legal_from)
    order = score.argsort(dim=-1, descending=True, stable=True)
    return mask_of(order[..., :size], score.shape[-1])


def _require_size(size, length, legal_from=1):
    if not legal_from <= size <= length:
        raise ValueError(f"size: {size} is outside {legal_from} .. {length}, the row's keys")


def _project(vertices, mu, support, weights):
    """Weights on the support that bring its mean nearest to mu, as a full vector.

    Minimises over the simplex by an active set: solve with the weights summing
    to 1, step until one reaches zero, drop it, repeat.
    """
    active = support.nonzero()[:, 0]
    current = weights[active].clone()
    full = torch.zeros_like(weights)
    keep = torch.arange(len(active))
    while True:
        target = _affine_weights(vertices[keep], mu)
        if (target >= -1e-15).all():
            full[active[keep]] = target.clamp_min(0)
            return full
        now = current[keep]
        falling = target < now
        ratio = torch.where(falling, now / (now - target).clamp_min(1e-300), torch.inf)
        fraction = ratio.min().clamp_max(1)
        now = now + fraction * (target - now)
        now[ratio.argmin()] = 0
        current[keep] = now
        keep = keep[now > 0]


def _affine_weights(vertices, mu):
    """Least-squares weights summing to 1 (no sign constraint)."""
    offsets = vertices - mu
    gram = offsets @ offsets.T
    gram = gram + 1e-12 * gram.trace().clamp_min(1e-30) * torch.eye(len(gram), dtype=gram.dtype)
    solved = torch.linalg.solve(gram, torch.ones(len(gram), dtype=gram.dtype))
    return solved / solved.sum()
