"""What dropping keys from one attention row costs.

A row has weights ``p`` [S] that sum to 1 and values ``v`` [S, D]. Its dense
output is mu = sum_j p_j v_j. A rule keeps a set A, drops the complement E and
renormalises, so the model sees

    m_A = sum_{j in A} p_j v_j / p(A)          (the forced output)

Everything here takes leading batch dimensions and computes in float64: ``p``
is [..., S], ``v`` is [..., S, D], and ``kept`` is a boolean mask [..., S].
Cost is O(S D) per row throughout. The definitions follow "Trust the Mass:
Forced Weights in KV-Cache Eviction" (arXiv 2608.25230), section 2.1.
"""

from typing import NamedTuple

import torch

SUM_TOLERANCE = 1e-4
"""How far from 1 the weights of a row may sum.

Weights that went through bfloat16 sum to 1 only to about 2**-8 / sqrt(S);
anything further off is no softmax row.
"""


class Factorization(NamedTuple):
    """Forced error = dropped mass times centroid gap. See `factorization`."""

    dropped_mass: torch.Tensor
    centroid_gap: torch.Tensor
    error: torch.Tensor


def as_row(p, v=None):
    """Return the row in float64, or say what is wrong with it.

    p: [..., S] weights; v: [..., S, D] values or None. Arrays and lists are
    accepted. Raises ValueError for shapes that do not match, entries that are
    not finite, negative weights and rows that do not sum to 1.
    """
    p = _float64(p)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(f"p: shape {tuple(p.shape)} holds no keys; need [..., S], S >= 1")
    if not torch.isfinite(p).all():
        raise ValueError("p: some weights are not finite")
    if (p < 0).any():
        raise ValueError(f"p: weight {p.min().item():g} is negative; need p >= 0")
    furthest = (p.sum(-1) - 1).abs().max().item()
    if furthest > SUM_TOLERANCE:
        raise ValueError(
            f"p: a row sums to 1 only within {furthest:.2g}; need {SUM_TOLERANCE:g}"
        )
    if v is None:
        return p, None
    v = _float64(v)
    if v.ndim < 2 or v.shape[-2] != p.shape[-1]:
        raise ValueError(
            f"v: shape {tuple(v.shape)} does not hold one value for each of the "
            f"{p.shape[-1]} weights; need [..., {p.shape[-1]}, D]"
        )
    if not torch.isfinite(v).all():
        raise ValueError("v: some values are not finite")
    _require_broadcast("v", v.shape[:-2], p.shape[:-1])
    return p, v


def _float64(x):
    """A float64 tensor; Python numbers go there directly, not through float32."""
    if not isinstance(x, torch.Tensor):
        return torch.as_tensor(x, dtype=torch.float64)
    if x.is_complex():
        raise ValueError(f"dtype {x.dtype}: weights and values are real numbers")
    return x.to(torch.float64)


def _require_broadcast(name, batch, *others):
    """Raise ValueError unless leading dimensions fit those of the row."""
    try:
        torch.broadcast_shapes(batch, *others)
    except RuntimeError:
        rows = " and ".join(str(tuple(other)) for other in others)
        raise ValueError(
            f"{name}: leading dimensions {tuple(batch)} do not fit those of the row, {rows}"
        ) from None


def as_kept(kept, p, v=None):
    """Return the kept set as a boolean mask [..., S] that fits the row.

    Raises ValueError for a mask that is not boolean, has another length, or
    keeps no mass in some row: there is nothing to renormalise then.
    """
    kept = torch.as_tensor(kept)
    if kept.dtype != torch.bool:
        raise ValueError(
            f"kept: dtype {kept.dtype} is not a mask; need torch.bool [..., S] "
            "(mask_of turns indices into one)"
        )
    if kept.ndim == 0 or kept.shape[-1] != p.shape[-1]:
        raise ValueError(
            f"kept: shape {tuple(kept.shape)} does not cover {p.shape[-1]} keys"
        )
    _require_broadcast("kept", kept.shape[:-1], p.shape[:-1])
    if v is not None:
        _require_broadcast("kept", kept.shape[:-1], p.shape[:-1], v.shape[:-2])
    if ((p * kept).sum(-1) <= 0).any():
        raise ValueError("kept: a row keeps no mass, so its weights cannot be renormalised")
    return kept


def mask_of(indices, length):
    """Boolean mask [..., length] of the key indices [..., s].

    Raises ValueError for indices that are no whole numbers or leave 0 .. length - 1.
    """
    indices = torch.as_tensor(indices)
    if indices.numel() and (indices.dtype.is_floating_point or indices.dtype == torch.bool):
        raise ValueError(f"indices: dtype {indices.dtype}; need whole numbers")
    indices = indices.to(torch.int64)
    if indices.numel() and not 0 <= indices.min() <= indices.max() < length:
        raise ValueError(
            f"indices: {indices.min().item()} .. {indices.max().item()} leave the "
            f"legal range 0 .. {length - 1}"
        )
    mask = torch.zeros(*indices.shape[:-1], length, dtype=torch.bool, device=indices.device)
    return mask.scatter(-1, indices, True)


def _mean(weights, v):
    """sum_j weights_j v_j: [..., S] and [..., S, D] to [..., D]."""
    return torch.einsum("...s,...sd->...d", weights, v)


def dense_output(p, v):
    """mu = sum_j p_j v_j, [..., D]: what attention returns with every key held."""
    p, v = as_row(p, v)
    return _mean(p, v)


def dropped_mass(p, kept):
    """sum of p over the evicted keys, [...], in [0, 1]."""
    p, _ = as_row(p)
    return (p * ~as_kept(kept, p)).sum(-1)


def forced_output(p, v, kept):
    """m_A = sum_{j in A} p_j v_j / p(A), [..., D]: what attention returns without E."""
    p, v = as_row(p, v)
    kept_p = p * as_kept(kept, p, v)
    return _mean(kept_p / kept_p.sum(-1, keepdim=True), v)


def forced_error(p, v, kept):
    """e_s(A) = ||mu - m_A||, [...]: the length of the error in the head's output."""
    return (dense_output(p, v) - forced_output(p, v, kept)).norm(dim=-1)


def evicted_output(p, v, kept):
    """m_E, [..., D]: mean of the evicted values under their own renormalised weights.

    Where nothing is evicted there is no such mean; the dense output stands in,
    which makes every identity that multiplies it by the dropped mass hold.
    """
    p, v = as_row(p, v)
    evicted_p = p * ~as_kept(kept, p, v)
    mass = evicted_p.sum(-1, keepdim=True)
    weights = torch.where(mass > 0, evicted_p / mass.clamp_min(1e-300), p)
    return _mean(weights, v)


def factorization(p, v, kept):
    """The two factors and the error: dropped mass * ||m_E - m_A|| = e_s(A).

    Each entry is [...]. The error is computed from the definition, not
    from the product, so comparing the two tests the identity (Lemma 2.1).
    """
    gap = (evicted_output(p, v, kept) - forced_output(p, v, kept)).norm(dim=-1)
    return Factorization(dropped_mass(p, kept), gap, forced_error(p, v, kept))


def missing_statistic(p, v, kept):
    """u = sum_{j in E} p_j v_j, [..., D]: all that a row needs back from E.

    With the dropped mass m it restores the dense output exactly:
    mu = (1 - m) m_A + u. "Beyond Sparse Weights" (arXiv 2608.21541), Thm 3.7.
    """
    p, v = as_row(p, v)
    return _mean(p * ~as_kept(kept, p, v), v)


def deviations(p, v):
    """Gamma_j = p_j (v_j - mu), [..., S, D]; they sum to zero over all keys.

    The error of any kept set is a sum of them: e_s(A) = ||sum_A Gamma_j|| / p(A).
    """
    p, v = as_row(p, v)
    return p.unsqueeze(-1) * (v - _mean(p, v).unsqueeze(-2))


def phi(p, v, kept):
    """||sum_{j in A} Gamma_j|| = p(A) e_s(A), [...].

    Called Phi where A is the top-mass set: one pass over the row predicts how
    large the best possible error is.
    """
    p, v = as_row(p, v)
    kept = as_kept(kept, p, v)
    return (deviations(p, v) * kept.unsqueeze(-1)).sum(-2).norm(dim=-1)
