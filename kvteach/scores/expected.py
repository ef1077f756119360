"""ExpectedAttention: what queries still to come would look at, on average, stays.

Devoto et al., "Expected Attention: KV Cache Compression by Estimating Attention from
Future Queries Distribution" (arXiv 2510.00636). If a future query is Gaussian with
mean m and covariance C, the expectation of exp(scaling q.k) is known in closed form:
exp(scaling m.k + scaling^2 k'Ck / 2).
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class ExpectedAttention:
    """score_j = ||v_j|| times the group mean of a_hj.

    a_hj = softmax over j of scaling m_h.k_j + scaling^2 k_j' C_h k_j / 2, where m_h
    and C_h are mean and covariance of head h's queries before rotary embedding (the
    rows that may rank, without the first ``sinks``), turned by the rotation averaged
    over the next ``future`` positions. The first ``sinks`` keys are +inf and outside
    the softmax. Soft-capping is left out of the expectation. [K, S] float32.

    Cost 4 H S D^2 FLOP and 4 H S D bytes for the queries turned back.

    Raises ValueError for negative sinks, future below 1, and when no row after the
    sinks may rank.
    """

    sinks: int = 4
    future: int = 512

    window = None
    hidden = False
    unrotates = True

    def __post_init__(self):
        if self.sinks < 0:
            raise ValueError(f"sinks: {self.sinks}; need at least 0 keys")
        if self.future < 1:
            raise ValueError(f"future: {self.future}; need at least 1 position")

    def __call__(self, layer):
        keys_ksd = layer.keys_ksd[:, self.sinks :].float()
        kv_heads, rest, dim = keys_ksd.shape
        mean_hd, cov_hdd = self._future_queries(layer)
        cov_kxd = cov_hdd.view(kv_heads, -1, dim)  # symmetric: C_h k is a row of K C_h'
        logits_ksrd = (keys_ksd @ cov_kxd.transpose(1, 2)).view(kv_heads, rest, -1, dim)
        logits_ksrd *= layer.scaling**2 / 2
        logits_ksrd += layer.scaling * mean_hd.view(kv_heads, 1, -1, dim)
        logits_ksr = logits_ksrd.mul_(keys_ksd[:, :, None]).sum(-1)
        expected_ks = logits_ksr.softmax(1).mean(-1)
        lengths_ks = torch.linalg.vector_norm(
            layer.values_ksd[:, self.sinks :].float(), dim=-1
        )
        sinks_ks = expected_ks.new_full((kv_heads, layer.length - rest), torch.inf)
        return torch.cat([sinks_ks, expected_ks * lengths_ks], 1)

    def _future_queries(self, layer):
        """Mean [H, D] and covariance [H, D, D] of queries, turned to the future."""
        first, last = layer.rows()
        begin = max(first, self.sinks)
        if last <= begin:
            raise ValueError(
                f"layer {layer.index}: {layer.length} keys of which the first {last} "
                f"rows may rank; sinks = {self.sinks} needs more"
            )
        offset = layer.length - layer.queries_htd.shape[1]
        recorded_htd = layer.queries_htd[:, begin - offset : last - offset]
        queries_htd = layer.unrotated(recorded_htd, begin)
        mean_h1d = queries_htd.mean(1, keepdim=True)
        queries_htd -= mean_h1d
        cov_hdd = queries_htd.transpose(1, 2) @ queries_htd / (last - begin)
        turn_dd = future_rotation(layer, self.future)
        return mean_h1d[:, 0] @ turn_dd.T, turn_dd @ cov_hdd @ turn_dd.T


def future_rotation(layer, count):
    """The rotary embedding's matrix, averaged over ``count`` positions after the end.

    [D, D] float32; the identity without rotary embedding and on the dimensions that
    it leaves alone. Positions are consecutive, so z_t = cos + i sin of the future
    follow from the tables: z_(S-1+t) = z_(S-1) z_t / z_0, extended by doubling.
    """
    dim, device = layer.keys_ksd.shape[-1], layer.keys_ksd.device
    turn_dd = torch.eye(dim, device=device)
    if layer.cos_sd is None:
        return turn_dd
    half = layer.cos_sd.shape[-1] // 2
    z = torch.complex(layer.cos_sd[:, :half].double(), layer.sin_sd[:, :half].double())
    steps = z / z[0]  # steps[t] turns by t positions
    while len(steps) <= count:
        steps = torch.cat([steps, steps[1:] * steps[-1]])
    mean = (z[-1] * steps[1 : count + 1]).mean(0)
    index = torch.arange(half, device=device)
    turn_dd[index, index] = turn_dd[index + half, index + half] = mean.real.float()
    turn_dd[index + half, index] = mean.imag.float()
    turn_dd[index, index + half] = -mean.imag.float()
    return turn_dd
