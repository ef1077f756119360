"""CertKV's summary of the evicted keys: one more key and value for each head.

The published slot holds the centroids of the evicted keys and values. Attention gives
it the logit sum r_j l_j, where the evicted keys together have log sum exp(l_j). By
Gibbs' variational principle it is too small by exactly

    log sum_j exp(l_j) - sum_j r_j l_j = H(r) + KL(r || softmax(l)) >= H(r) .

So a bias of H(r), the entropy of the weights, is owed whatever the query, and with it
the slot never takes more than the evicted keys' mass.
"""

from dataclasses import dataclass

import torch

from kvteach.attention import soft_capped
from kvteach.compensate.tail import Tail


@dataclass(frozen=True)
class TailSlot:
    """One slot a head at the weighted centroids of its evicted keys; returns `Slots`.

        key sum_E r_j k_j,   value sum_E r_j v_j,   bias 0, H(r) or log |E|

    weights: "score", r_j in proportion to the scores, as published; "alike", plain
      means. A tail whose scores are all 0 is weighted alike.
    bias: "none", as published; "entropy", H(r) = - sum r_j log r_j, which makes the
      slot exact for every row whose weights on the tail are in proportion to r and
      never too heavy for any row; "count", log |E|, the same for equal weights.

    State: 2 D numbers a KV head in the model's dtype and the bias, float32. Cost 4 S D
    FLOP a head. Source: CertKV (arXiv 2608.21541), known from summaries; biases are
    ours. Raises ValueError for another word and for negative scores.
    """

    weights: str = "score"
    bias: str = "none"

    window = 0
    hidden = False
    repeats = False  # scores of keys that went before are gone

    def __post_init__(self):
        for name, legal in (("weights", ("score", "alike")),
                            ("bias", ("none", "entropy", "count"))):
            if getattr(self, name) not in legal:
                raise ValueError(f"{name}: {getattr(self, name)!r}; legal are {legal}")

    def charge(self, dim):
        """One key of every KV head is given up for the slot."""
        return 1

    def __call__(self, layer, kept_ks, score_ks, before=None):
        """The slot of one layer of one sequence, B = 1."""
        tail = Tail.of(layer, kept_ks)
        share_ks = self._shares(tail.evicted_ks, score_ks)
        count_k = tail.evicted_ks.sum(1)
        bias_k = {
            "none": torch.zeros_like(count_k, dtype=torch.float32),
            "entropy": torch.special.entr(share_ks).sum(1),
            "count": count_k.float().log(),
        }[self.bias]
        return Slots(
            narrow(share_ks[:, None] @ tail.keys_ksd, layer.keys_ksd)[None],
            narrow(share_ks[:, None] @ tail.values_ksd, layer.values_ksd)[None],
            bias_k.masked_fill(count_k == 0, -torch.inf)[None, :, None],
        )

    def _shares(self, evicted_ks, score_ks):
        """r, [K, S] float32; 0 outside the tail."""
        share_ks = evicted_ks.float()
        if self.weights == "alike":
            return share_ks / share_ks.sum(1, keepdim=True).clamp_min(1)
        score_ks = score_ks.masked_fill(~evicted_ks, 0.0).double()
        if not (score_ks >= 0).all():
            least = score_ks.min()
            raise ValueError(f"scores: the least is {least}; a slot needs >= 0")
        empty_k = score_ks.sum(1) == 0
        score_ks = torch.where(empty_k[:, None], share_ks.double(), score_ks)
        total_k = score_ks.sum(1, keepdim=True)
        return (score_ks / torch.where(total_k > 0, total_k, 1.0)).float()


@dataclass(frozen=True)
class Slots:
    """M more keys a head, which every later query sees; B sequences, K heads.

    bias_bkm is float32, -inf where there is no slot; it is added after soft-capping.
    """

    keys_bkmd: torch.Tensor
    values_bkmd: torch.Tensor
    bias_bkm: torch.Tensor

    def slots(self, queries_gxd, softcap):
        """Logits [G, X, M] and values [G, M, D], G = B K, in the queries' dtype."""
        dtype = queries_gxd.dtype
        state = self.tensors().values()
        keys_gmd, values_gmd, bias_gm = (t.flatten(0, 1).to(dtype) for t in state)
        logits = soft_capped(queries_gxd @ keys_gmd.transpose(1, 2), softcap)
        return logits + bias_gm[:, None], values_gmd

    def outside(self, queries_gxd):
        """None: nothing is added to the output."""

    def tensors(self):
        """The state, by name."""
        names = ("keys", "values", "bias")
        return dict(zip(names, (self.keys_bkmd, self.values_bkmd, self.bias_bkm)))

    def weights(self):
        """No learned tensors."""
        return {}

    def select(self, rows):
        """Sequence i becomes what sequence rows[i] was."""
        return Slots(*(tensor.index_select(0, rows.to(tensor.device))
                       for tensor in self.tensors().values()))

    @classmethod
    def stack(cls, rests):
        """Slots of several sequences as one batch."""
        parts = zip(*(rest.tensors().values() for rest in rests))
        return cls(*(torch.cat(part) for part in parts))


def narrow(tensor, like):
    """In the dtype of ``like``; what it cannot hold becomes its largest number."""
    limit = torch.finfo(like.dtype).max
    return tensor.clamp(-limit, limit).to(like.dtype)
