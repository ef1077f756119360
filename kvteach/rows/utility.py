"""One row for a whole model: what its last rows look at, and how long the values are.

CompilerKV ranks a key by two factors. The first, alpha, is one row for all layers and
heads, so no single head's spike decides; the second, rho, is the length of the key's
value in units of its own head, so no head wins by having long values. A key is worth
what the keenest head says it is worth: one head that needs it is enough.
"""

import torch


def alpha(rows):
    """alpha_t = T times the mean over all rows of their weight on key t, [T].

    rows: attention rows [..., T], each summing to 1; then mean(alpha) = 1 and
    sum(alpha) = T. Sums run in float64. Raises ValueError for rows of no key.
    """
    length = rows.shape[-1] if rows.dim() else 0
    if not length or not rows.numel():
        raise ValueError(f"rows: shape {list(rows.shape)}; need [..., T], T >= 1")
    return rows.reshape(-1, length).double().mean(0) * length


def rho(values_ktd):
    """rho_kt = |v_kt| / mean over t of |v_kt|, [..., K, T] float64.

    A head whose values are all zero has rho 1: nothing tells its keys apart.
    """
    norm_kt = values_ktd.double().norm(dim=-1)
    mean_k1 = norm_kt.mean(-1, keepdim=True)
    return torch.where(mean_k1 > 0, norm_kt / mean_k1, 1.0)


def veto(utility_kt, weight_k=None):
    """max over heads of weight_k u_kt, [..., K, T] to [..., T].

    weight_k: [..., K] reliability of each head, 1 for all by default. The maximum gives
    a head that cares a veto against evicting: no majority outvotes it.
    """
    if weight_k is not None:
        utility_kt = utility_kt * weight_k[..., None]
    return utility_kt.amax(-2)


def spread(alpha_t):
    """Entropy of alpha scaled to sum 1, in nats; between 0 and ln T."""
    p_t = alpha_t.double() / alpha_t.double().sum(-1, keepdim=True)
    return torch.special.entr(p_t).sum(-1)
